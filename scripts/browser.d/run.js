// Checks the pages of a started platform in Chromium: run.js CREDENTIALS SAMPLES SCREENSHOTS [--short], see scripts/browser.
'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const members = require('./console.js');
const { create } = require('./dashboards.js');
const directions = require('./directions.js');
const files = require('./files.js');
const find = require('./find.js');
const { Person, KeyboardPerson, signedIn, walk } = require('./first_start.js');
const { vnu } = require('./html.js');
const imports = require('./import.js');
const integrations = require('./integrations.js');
const keyboard = require('./keyboard.js');
const { links } = require('./links.js');
const { live } = require('./live.js');
const looks = require('./looks.js');
const moves = require('./move.js');
const phone = require('./phone.js');
const report = require('./report.js');
const samples = require('./samples.js');
const setup = require('./setup.js');
const { launch } = require('./visitor.js');

const [credentials, sampleFolder, screenshots, mode] = process.argv.slice(2);
const short = mode === '--short';
const limit = 60; // minutes; beside the tests, the short form takes more than 15
setTimeout(() => {
  console.log(`not ok browser: the checks have not ended within ${limit} minutes`);
  process.exit(124);
}, limit * 60_000).unref();

const checks = [];
const check = (name, run) => checks.push({ name, run });

// work runs the checks, as many at once as the machine has processors, and shows the result of each.
async function work() {
  const next = async () => {
    for (let one = checks.shift(); one; one = checks.shift()) {
      const found = await one.run().catch((error) => [error.stack]);
      if (found.length > 0) process.exitCode = 1;
      console.log([`${found.length > 0 ? 'not ok' : 'ok'} browser: ${one.name}`, ...found].join('\n'));
    }
  };
  await Promise.all(Array.from({ length: Math.min(4, os.availableParallelism()) }, next));
}

// first returns true if the page is the first of its kind.
const first = (name) => !/-(?!1$)\d+$/.test(name);

// every returns the pages of a dashboard, in the short form one of each kind.
const every = (dashboard) => Object.keys(dashboard.pages).filter((name) => !short || first(name));

function looksOf(bench, dashboard, names, variants) {
  for (const [theme, widths] of variants) {
    check(`${dashboard.name} ${theme} ${widths}: ${names.length} pages`, () => looks.look(bench, dashboard, names, theme, widths));
  }
}

const widths = [360, 768, 1280, 1920];
const all = [['light', widths], ['dark', widths], ['forced', [360, 1280]], ['scriptless', [360, 1280]]];
const few = [['light', [360]], ['dark', [1280]]];

// lookAtConsole adds the checks of the console's pages, for a member and for everybody. 
function lookAtConsole(bench, state) {
  const base = `${new URL(JSON.parse(fs.readFileSync(credentials, 'utf8')).consoleUrl).origin}/console`;
  for (const [theme, at] of short ? [['light', [1280]], ['dark', [360]]] : all) { // walks use the other widths
    check(`console ${theme} ${at}`, () => members.look(bench, state, base, members.pages, theme, at));
    check(`sign-in pages ${theme} ${at}`, () => members.look(bench, undefined, base, members.gates, theme, at));
  }
  check('console: text of double size and with wide spacing', () => members.magnify(bench, state, base, short ? members.pages.slice(0, 3) : members.pages));
  check('sign-in pages: text of double size and with wide spacing', () => members.magnify(bench, undefined, base, members.gates));
  check('console: Tab reaches everything', () => members.keyboard(bench, state, base, members.pages.slice(0, short ? 6 : -1).filter(([, , status]) => status !== 422)));
  check('sign-in pages: Tab reaches everything', () => members.keyboard(bench, undefined, base, members.gates));
}

async function main() {
  const html = fs.mkdtempSync(path.join(os.tmpdir(), 'html-'));
  const bench = {
    short, browser: await launch(), mails: path.join(path.dirname(credentials), 'mail'),
    keep: (name, text) => fs.writeFileSync(path.join(html, `${name}.html`), text),
    shoot: async (page, name) => screenshots && page.screenshot({ path: path.join(screenshots, `${name}.png`), fullPage: true }),
    shows: (name, width) => [360, 1280].includes(width) && first(name),
  };
  const { app, dashboards } = await create(JSON.parse(fs.readFileSync(credentials, 'utf8')));
  const sample = await samples.serve(sampleFolder);
  const { calm, troubled, hostile, german, japanese, dark, private: secret } = dashboards;

  const platform = { name: 'platform', url: new URL(calm.url).origin, pages: { index: '', missing: 'd/nobody/' } };
  for (const dashboard of [platform, troubled, hostile, secret]) looksOf(bench, dashboard, every(dashboard), short ? few : all);
  for (const dashboard of [calm, german, japanese, dark]) looksOf(bench, dashboard, short ? ['index'] : every(dashboard), short ? [['light', [360]]] : all);
  for (const dashboard of [sample.trouble, sample.hostile]) looksOf(bench, dashboard, every(dashboard), short ? [['light', [768]]] : all);
  const rest = short ? [sample.large, sample.pl] : Object.values(sample).filter((one) => one !== sample.trouble && one !== sample.hostile);
  for (const dashboard of rest) looksOf(bench, dashboard, short ? ['index'] : ['index', 'subscribe', 'component-1'], short ? [['light', [360]]] : all);
  if (short) looksOf(bench, troubled, ['index', 'event-1'], [['forced', [768]], ['scriptless', [360]]]);

  const pages = every(troubled).filter((name) => name !== 'missing');
  check('text of double size and with wide spacing', () => looks.magnify(bench, troubled, short ? ['index'] : pages));
  if (!short) check('hostile text of double size and with wide spacing', () => looks.magnify(bench, hostile, every(hostile).filter((name) => name !== 'missing')));
  check('the same without script', () => looks.compare(bench, troubled, pages));
  check('a wrong password', () => looks.knock(bench, secret));
  check('Tab reaches everything', () => keyboard.walks(bench, troubled, pages));
  check('Tab reaches everything of a sample', () => keyboard.walks(bench, sample.trouble, every(sample.trouble)));
  check('a bar', () => keyboard.bar(bench, sample.trouble));
  check('a bar of today', () => keyboard.bar(bench, troubled));
  check('parts and the link to the content', () => keyboard.parts(bench, troubled));
  check('a live page', () => live(bench, dashboards.live, app));
  for (const channel of ['email', 'webhook']) {
    check(`hostile texts: ${channel}, from the form to the end`, () => links(bench, hostile, channel, { viewport: { width: 360, height: 740 } }));
    if (!short) check(`${channel}, from the form to the end`, () => links(bench, german, channel, { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' }));
  }
  for (const [name, one] of Object.entries(files)) check(`hostile texts: ${name}`, () => one(bench, hostile));
  const session = path.join(path.dirname(credentials), 'session.json');
  check('the console, from the first start', () => members.first(bench, JSON.parse(fs.readFileSync(credentials, 'utf8')), session));
  check('from the first start to a resolved incident, then by phone', walk(bench, Person, {}, 25, phone.all));
  check('from the first start to a resolved incident without script, then by phone', walk(bench, Person, { javaScriptEnabled: false }, 25, phone.scriptless));
  check('from the first start to a resolved incident by keyboard, then with names from right to left', walk(bench, KeyboardPerson, {}, 130, directions.all));
  check('imports of subscribers and of a status page, with script and without', signedIn(bench, async (...at) => [...await imports.all(...at), ...await moves.all(...at)]));
  check('a webhook to its suppression and back, and a key of the inbound webhook', integrations.all(bench));
  check('find, shortcuts and the height of rows', signedIn(bench, find.all));
  check('the uptime report on screen, on paper and as a file', signedIn(bench, report.all));
  check('the setup with its test messages, with script and without', setup.check(bench));
  await work();
  if (fs.existsSync(session)) lookAtConsole(bench, session);
  await work();

  if (spawnSync('java', ['-version']).status === 0) {
    check(`the W3C checker on ${fs.readdirSync(html).length} documents`, () => vnu(html));
    await work();
  } else {
    console.log('there is no Java here; the W3C checker does not run');
  }
  await bench.browser.close();
  fs.rmSync(html, { recursive: true });
}

main().catch((error) => {
  console.log(`not ok browser: ${error.stack}`);
  process.exit(1);
});
