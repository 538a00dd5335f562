import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PathRouter, Route, RouteConflictError, SettingError } from "millpond";

function routerOf(...templates: string[]): PathRouter<string> {
  const router = new PathRouter<string>();
  for (const template of templates) router.add(new Route(template), template);
  return router;
}

/** The most specific matching template, found by trying each one segment by segment. */
function naive(templates: readonly string[], path: string): string | undefined {
  const rank = (template: string): number[] =>
    template.split("/").map((segment) => (segment === "*" ? 2 : segment.startsWith("{") ? 1 : 0));
  const fits = (template: string): boolean => {
    const [wanted, given] = [template.split("/"), path.split("/")];
    const open = wanted[wanted.length - 1] === "*";
    if (open ? given.length < wanted.length : given.length !== wanted.length) return false;
    return wanted.every((segment, at) => {
      if (open && at === wanted.length - 1) return true;
      return segment.startsWith("{") ? given[at] !== "" : segment === given[at];
    });
  };
  return templates.filter(fits).sort((a, b) => {
    const [left, right] = [rank(a), rank(b)];
    for (let at = 0; at < Math.min(left.length, right.length); at++) {
      if (left[at] !== right[at]) return left[at]! - right[at]!;
    }
    return right.length - left.length;
  })[0];
}

test("fixed text precedes a parameter and a parameter precedes a wildcard, segment by segment", () => {
  const router = routerOf("a/b/c", "a/{x}/c", "a/{x}/{y}", "a/*", "*");
  assert.equal(router.match("a/b/c"), "a/b/c");
  assert.equal(router.match("a/x/c"), "a/{x}/c");
  assert.equal(router.match("a/b/d"), "a/{x}/{y}");
  assert.equal(router.match("a/b/c/d"), "a/*");
  assert.equal(router.match("a/"), "a/*");
  assert.equal(router.match("a"), "*");
});

test("schemes are part of the path", () => {
  const router = routerOf("bbo://{symbol}", "trade://{symbol}");
  assert.equal(router.match("bbo://AAPL"), "bbo://{symbol}");
  assert.equal(router.match("trade://AAPL"), "trade://{symbol}");
  assert.equal(router.match("depth://AAPL"), undefined);
  assert.equal(router.match("bbo://"), undefined);
});

test("templates that match the same paths conflict by name", () => {
  assert.throws(() => routerOf("a/{x}", "a/{y}"), RouteConflictError);
});

test("an invalid template is refused", () => {
  for (const template of [
    "",
    "a/*/b",
    "a/{}",
    "a/{x}/{x}",
    "a/x{y}",
    "a/b*",
    "{a}-{b}",
    "a/{b}-{c}/d",
    "a/{b}{c}",
    "a/{b{c}}",
  ]) {
    assert.throws(() => new Route(template), SettingError, template);
  }
});

test("a deleted template matches no more", () => {
  const router = routerOf("a/b", "a/{x}");
  router.delete("a/b");
  assert.equal(router.match("a/b"), "a/{x}");
});

test("for any templates and any path the router finds what a naive matcher finds", () => {
  const word = fc.constantFrom("a", "b", "ab", "abc", "ba", "c");
  const segment = fc.oneof({ weight: 3, arbitrary: word }, fc.constant("{p}"));
  const template = fc.tuple(fc.array(segment, { minLength: 1, maxLength: 4 }), fc.boolean()).map(([segments, open]) => {
    const named = segments.map((one, at) => (one === "{p}" ? `{p${at}}` : one));
    return (open ? [...named, "*"] : named).join("/");
  });
  const path = fc
    .array(fc.oneof(word, fc.constant("")), { minLength: 1, maxLength: 5 })
    .map((parts) => parts.join("/"));
  const property = fc.property(
    fc.uniqueArray(template, { maxLength: 12 }),
    fc.uniqueArray(template, { maxLength: 6 }),
    fc.array(path, { minLength: 1, maxLength: 12 }),
    (templates, passing, paths) => {
      // Added and deleted templates leave nothing.
      const gone = passing.filter((one) => !templates.includes(one));
      const router = routerOf(...gone.slice(0, 3), ...templates);
      for (const one of gone.slice(3)) router.add(new Route(one), one);
      for (const one of gone) assert.equal(router.delete(one), true);
      for (const one of paths) {
        const found = router.match(one);
        assert.equal(found, naive(templates, one), `${one} in ${templates.join(" ")}`);
        const all: string[] = [];
        router.matchAll(one, all);
        assert.deepEqual(all.sort(), templates.filter((each) => naive([each], one) !== undefined).sort());
        if (found === undefined) continue;
        const route = new Route(found);
        for (const [index, name] of route.names.entries()) {
          const at = found.split("/").indexOf(name === "*" ? "*" : `{${name}}`);
          const expected = one.split("/").slice(at);
          assert.equal(route.text(one, index), name === "*" ? expected.join("/") : expected[0]);
        }
      }
    },
  );
  fc.assert(property, { numRuns: 2_000 });
});
