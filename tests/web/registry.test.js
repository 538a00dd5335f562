// The page shows a kind of sink and a format of feeds that it does not know, like the built-in ones.
import assert from "node:assert/strict";
import dgram from "node:dgram";
import { test } from "node:test";

import { chromium } from "playwright-core";

import { startGateway } from "./gateway.js";

const PROGRAM = process.env.MILLPOND_REGISTRY_PROGRAM;

test("a kind and a format that are only in the tests' folder are on the page", { skip: PROGRAM === undefined }, async () => {
  const gateway = await startGateway(["--beacon", "name=lamp,place=roof"], { program: PROGRAM, format: "ticker,lot_size=9" });
  const browser = await chromium.launch({ executablePath: process.env.MILLPOND_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  const socket = dgram.createSocket("udp4");
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(30_000);
    await page.goto(gateway.url);
    const feed = page.locator("#feeds tr[data-name=planted]");
    await feed.getByText(/^ticker on 127/).waitFor();
    const price = Buffer.alloc(8);
    price.writeBigInt64LE(1_234_500_000n);
    socket.send(price, gateway.feedPort, "127.0.0.1");
    await page.locator("#quotes .body [role=row]:visible [data-key=ask]").getByText("1.2345").waitFor();
    const lamp = page.locator("#sinks tr[data-name=lamp]");
    assert.match(await lamp.locator("th").textContent(), /lamp.*beacon/);
    await lamp.locator("td[data-label=Delivered]").getByText("1", { exact: true }).waitFor();
    socket.send(Buffer.from("bad"), gateway.feedPort, "127.0.0.1");
    await page.locator("#findings li", { hasText: "feed 'planted'" }).first().waitFor();
    await feed.locator("td[data-label='Decode errors']").getByText("1", { exact: true }).waitFor();
  } finally {
    socket.close();
    await browser.close();
    await gateway.stop();
  }
});
