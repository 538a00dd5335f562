import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

const OF_NODE = [
  "URL",
  "console",
  "performance",
  "process",
  "setImmediate",
  "AbortController",
  "structuredClone",
  "setTimeout",
  "clearTimeout",
  "SharedArrayBuffer",
];

export default defineConfig(
  globalIgnores(["dist/", "build/", "api/"]),
  js.configs.recommended,
  tseslint.configs.recommended,
  {
    rules: {
      eqeqeq: "error",
      "prefer-const": "error",
    },
  },
  // The compiler looks for unused names in TypeScript itself.
  { files: ["**/*.ts"], rules: { "@typescript-eslint/no-unused-vars": "off" } },
  {
    files: ["src/**/*.ts"],
    languageOptions: { parserOptions: { project: "tsconfig.json", tsconfigRootDir: import.meta.dirname } },
    rules: { "@typescript-eslint/no-floating-promises": "error" },
  },
  {
    files: ["shm/*.js"],
    languageOptions: { globals: { module: "writable", require: "readonly" } },
    rules: { "@typescript-eslint/no-require-imports": "off" },
  },
  {
    files: ["**/*.mjs", "*.js"],
    languageOptions: { globals: Object.fromEntries(OF_NODE.map((name) => [name, "readonly"])) },
  },
);
