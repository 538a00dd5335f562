// An open session of a FIX engine, its history, and what an operator may do with it, in real Chromium.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { faults, launch, open, overflow, picture, shifts } from "./browser.js";
import { Counterparty, PAGE, PORT, startFix } from "./fix-engine.js";

const WIDE = { width: 1440, height: 900 };
const NAME = "FIX.4.4:HOUSE->DESK";
const SECRET = "page-secret-01234567890";
const ADMIN = "admin-secret-0123456789";
const CHARTS = ["history-rate", "history-resends", "history-latency", "history-output"];

const folder = mkdtempSync(join(tmpdir(), "millpond-fix-"));
const config = join(folder, "fix.toml");
let browser;
let house;
let desk;

const start = () => startFix(["acceptor", "--config", config], [PAGE, PORT], folder);

before(async () => {
  writeFileSync(join(folder, "admin.token"), ADMIN, { mode: 0o600 });
  writeFileSync(join(folder, "web.token"), SECRET, { mode: 0o600 });
  writeFileSync(config, `state = "${folder}/state"
raw_log = "${folder}/raw.log"
admin_token_file = "${folder}/admin.token"
[[web]]
listen = "127.0.0.1:0"
token_file = "${folder}/web.token"
[[acceptor]]
listen = "127.0.0.1:0"
[[session]]
sender = "HOUSE"
target = "DESK"
start = "00:00"
end = "00:00"
[[session]]
sender = "HOUSE"
target = "OTHER"
`);
  browser = await launch();
  house = await start();
  desk = new Counterparty(Number(house.word(PORT)), ["DESK", "HOUSE"]);
  desk.send("A", "98=0|108=30|554=swordfish|");
  desk.send("D", "11=first|55=MSFT|54=1|38=100|40=1|60=20240102-03:04:05|");
  desk.send("D", "11=second|55=AAPL|54=2|38=5|40=1|60=20240102-03:04:05|");
  desk.send("3", "45=1|58=unknown venue|");
});

after(async () => {
  await browser?.close();
  desk?.close();
  await house?.stop("SIGKILL");
  rmSync(folder, { recursive: true });
});

async function withPage(options, run) {
  const view = await open(browser, house.word(PAGE), { viewport: WIDE, ...options });
  try {
    await view.getByLabel("Token", { exact: true }).fill(SECRET);
    await view.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await run(view);
  } finally {
    await view.context().close();
  }
}

const message = (view, text) => view.locator("#messages tr[data-key]", { hasText: text });
const events = (view, text) => view.locator("#events tr[data-number]", { hasText: text });
const fact = (view, title) => view.locator("#session-facts div", { has: view.getByText(title, { exact: true }) }).locator("dd");

async function openSession(view, name = NAME) {
  await view.getByRole("link", { name }).click();
  await view.getByRole("heading", { name }).waitFor();
}

async function act(view, button, token = ADMIN) {
  await view.locator("#session-actions").getByRole("button", { name: button, exact: true }).click();
  await view.getByRole("dialog").getByLabel("Admin token").fill(token);
  await view.getByRole("dialog").getByRole("button", { name: button, exact: true }).click();
}

test("a session opens to its facts and its last messages, decoded and masked", async () => {
  await withPage({}, async (view) => {
    await openSession(view);
    await message(view, "NewOrderSingle (D)").first().waitFor();
    assert.equal(await message(view, "").count(), 5);
    assert.match(await fact(view, "Schedule").textContent(), /00:00:00 to 00:00:00, UTC \(open now\)/);
    assert.match(await fact(view, "Rejected by the peer").textContent(), /1, the newest .*: unknown venue/);
    assert.match(await fact(view, "Store").textContent(), /DESK\.store: /);
    assert.match(await message(view, "Logon (A)").last().textContent(), /masked/);
    assert.doesNotMatch(await view.content(), /swordfish/);
    await message(view, "second").getByRole("button").click();
    const fields = view.locator("#messages .fields tr");
    assert.match(await fields.filter({ hasText: "Side" }).textContent(), /54Side2SELL/i);
    await picture(view, "fix-session");
    await message(view, "second").getByRole("button").click();
    await fields.first().waitFor({ state: "detached" });
    assert.deepEqual(await shifts(view), []);
  });
});

test("messages are filtered by direction, type and field, and new ones arrive", async () => {
  await withPage({}, async (view) => {
    await view.goto(`${house.word(PAGE)}#/session/${encodeURIComponent(NAME)}`);
    await message(view, "NewOrderSingle (D)").first().waitFor();
    await view.getByLabel("Type of message").selectOption("D");
    await message(view, "Logon").first().waitFor({ state: "detached" });
    await view.getByLabel("Tag or tag=value").fill("55=MSFT");
    await view.getByText("1 of 5 messages").waitFor();
    await view.getByLabel("Tag or tag=value").fill("Side=SELL");
    await message(view, "second").waitFor();
    await message(view, "first").waitFor({ state: "detached" });
    await view.getByLabel("Tag or tag=value").fill("9999");
    await view.getByText("No message passes the filter.").waitFor();
    await view.getByLabel("Tag or tag=value").fill("");
    await view.getByLabel("Direction").selectOption("in");
    desk.send("D", "11=third|55=IBM|54=1|38=1|40=1|60=20240102-03:04:05|");
    await message(view, "third").waitFor();
    await view.getByLabel("Direction").selectOption("out");
    await view.getByText("No message passes the filter.").waitFor();
  });
});

test("while a message is open nothing in the list moves, and newer ones are counted", async () => {
  await withPage({}, async (view) => {
    await openSession(view);
    await message(view, "first").getByRole("button").click();
    const before = await message(view, "").count();
    desk.send("D", "11=held|55=IBM|54=1|38=1|40=1|60=20240102-03:04:05|");
    await view.getByText("newer: close the open ones.").waitFor();
    assert.equal(await message(view, "").count(), before);
    await message(view, "first").getByRole("button").click();
    await message(view, "held").waitFor();
    assert.deepEqual(await shifts(view), []);
  });
});

test("by keyboard a session opens and closes, and the focus returns to it", async () => {
  await withPage({}, async (view) => {
    await view.getByRole("link", { name: NAME }).focus();
    await view.keyboard.press("Enter");
    await message(view, "first").waitFor();
    assert.equal(await view.evaluate(() => document.activeElement.id), "session-title");
    await view.getByRole("button", { name: "Close" }).focus();
    await view.keyboard.press("Enter");
    await view.locator("#session-panel").waitFor({ state: "hidden" });
    assert.equal(await view.evaluate(() => document.activeElement.textContent), NAME);
    assert.equal(await view.evaluate(() => location.hash), "");
  });
});

test("charts and events are those of the open session", async () => {
  await withPage({}, async (view) => {
    for (const id of CHARTS) await view.locator(`#${id} canvas`).first().waitFor();
    await events(view, "started; sessions: 2").waitFor();
    await openSession(view);
    assert.equal(await view.getByLabel("Source").inputValue(), `session '${NAME}'`);
    await events(view, "started; sessions: 2").waitFor({ state: "detached" });
    await events(view, "logged on: 127.0.0.1:").waitFor();
    await events(view, "rejected by the peer: unknown venue").waitFor();
    desk.send("D", "11=fourth|55=IBM|54=1|38=1|40=1|60=20240102-03:04:05|", 3);
    await events(view, "are missing and were requested").waitFor();
    await picture(view, "fix-history");
  });
});

test("an action names its consequence, needs the admin token and is an event", async () => {
  await withPage({}, async (view) => {
    await openSession(view, "FIX.4.4:HOUSE->OTHER");
    const dialog = view.getByRole("dialog");
    await view.getByRole("button", { name: "Reset" }).click();
    await dialog.getByText("the resend store is lost").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await act(view, "Set numbers", "wrong-secret-0123456789");
    await dialog.getByText("The admin token was not accepted.").waitFor();
    await dialog.getByLabel("Next number out").fill("0");
    await dialog.getByLabel("Admin token").fill(ADMIN);
    await dialog.getByRole("button", { name: "Set numbers" }).click();
    await dialog.getByText("a sequence number is from 1 to").waitFor();
    await dialog.getByLabel("Next number out").fill("41");
    await dialog.getByRole("button", { name: "Set numbers" }).click();
    await dialog.waitFor({ state: "hidden" });
    await fact(view, "Next out, next in").getByText("41, 1").waitFor();
    await events(view, "numbers set: next out 41, next in unchanged").waitFor();
    await act(view, "Log out");
    await events(view, "disabled: logged out by an operator").waitFor();
    await view.locator("#sessions tr[data-name]", { hasText: "OTHER" }).getByText("disabled").waitFor();
    assert.ok(await view.getByRole("button", { name: "Log out" }).isDisabled());
    await act(view, "Enable");
    await events(view, "enabled").first().waitFor();
    assert.ok(await view.getByRole("button", { name: "Promote" }).isDisabled());
  });
});

test("no fault of accessibility, no overflow and no shift, wide and narrow, in both themes", async () => {
  for (const [width, colorScheme] of [[1440, "light"], [1440, "dark"], [390, "light"], [390, "dark"]]) {
    await withPage({ viewport: { width, height: 844 }, colorScheme }, async (view) => {
      await openSession(view);
      await message(view, "first").getByRole("button").click();
      await view.locator("#messages .fields").waitFor();
      for (const id of CHARTS) await view.locator(`#${id} canvas`).first().waitFor();
      await events(view, "logged on").waitFor();
      assert.deepEqual(await faults(view, true), [], `${width} ${colorScheme}`);
      assert.equal(await overflow(view), 0, `${width}`);
      await picture(view, `fix-session-${width}-${colorScheme}`);
      await view.getByRole("button", { name: "Reset" }).click();
      await view.getByRole("dialog").waitFor();
      assert.deepEqual(await faults(view, true), [], `${width} ${colorScheme}, a dialog`);
      await picture(view, `fix-dialog-${width}-${colorScheme}`);
      assert.deepEqual(await shifts(view), []);
    });
  }
});

test("after a restart the page has the events from before it", async () => {
  await house.stop();
  house = await start();
  await withPage({}, async (view) => {
    await events(view, "stopped").waitFor();
    await events(view, "rejected by the peer: unknown venue").waitFor();
    await view.goto(`${house.word(PAGE)}#/session/${encodeURIComponent("FIX.4.4:HOUSE->NONE")}`);
    await view.getByText("There is no session of this name.").waitFor();
  });
});
