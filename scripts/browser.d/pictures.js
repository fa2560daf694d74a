// Makes the pictures of the console in the README: pictures.js CREDENTIALS FOLDER. The platform has the sample dashboard, see
// scripts/screenshots. Subscribers and endpoints are added, and an incident is published.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { App } = require('./dashboards.js');
const { launch } = require('./visitor.js');

const [file, folder] = process.argv.slice(2);
const credentials = JSON.parse(fs.readFileSync(file, 'utf8'));
const home = `${new URL(credentials.consoleUrl).origin}/console/`;
const screens = {
  phone: { viewport: { width: 360, height: 720 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
  desk: { viewport: { width: 1280, height: 800 } },
};

const first = ['Ines', 'Tomasz', 'Mei', 'Amara', 'Lars', 'Sofia', 'Ravi', 'Chloe', 'Mateo', 'Hanna'];
const last = ['Moreau', 'Nowak', 'Tanaka', 'Okafor', 'Berg', 'Rossi', 'Patel', 'Weber', 'Silva', 'Novak'];

// prepare makes the organization look like one that has been in use for a while. It returns the components by name.
async function prepare(app) {
  const { dashboards } = await app.send('GET', '/dashboards?limit=10');
  const shop = dashboards.find((dashboard) => dashboard.slug === 'demo');
  for (const other of dashboards) {
    if (other.id === shop.id) continue;
    const { dashboard } = await app.send('GET', `/dashboards/${other.id}`);
    await app.send('DELETE', `/dashboards/${other.id}`);
    for (const { componentId } of dashboard.components) await app.send('DELETE', `/components/${componentId}`);
  }
  await app.send('PATCH', '/organization', { name: 'Fernwell' });
  await app.send('PATCH', `/dashboards/${shop.id}`, { subscriptions: { ...shop.subscriptions, email: true, sms: true, webhook: true } });
  const { components } = await app.send('GET', '/components?limit=100');
  const of = Object.fromEntries(components.map((component) => [component.name, component.id]));
  for (let n = 0; n < 1204; n += 602) {
    const rows = Array.from({ length: 602 }, (_, i) => ({ email: `${first[i % 10]}.${last[(n + i) % 7]}.${n + i}@mail.example`.toLowerCase(), confirmed: true }));
    await app.send('POST', '/subscribers/email/import', { dashboardId: shop.id, rows });
  }
  await app.send('POST', '/subscribers/sms/import', { dashboardId: shop.id, rows: Array.from({ length: 86 }, (_, i) => ({ phone: `+4915112${345000 + i}`, confirmed: true })) });
  for (const name of ['orders', 'checkout', 'partners']) {
    await app.send('POST', '/integrations/webhooks/outbound/endpoints', { dashboardId: shop.id, url: `https://receiver.example/hooks/${name}`, managementEmail: 'ops@fernwell.example', componentIds: components.map((component) => component.id) });
  }
  await app.send('POST', '/templates', { kind: 'incident', name: 'Payment provider', title: 'Payments fail', status: 'identified', severity: 'minor_outage', message: 'Our payment provider has a problem.', componentIds: [of['Card payments']] });
  return { shop, of };
}

async function main() {
  const browser = await launch();
  const app = new App(credentials);
  const { shop, of } = await prepare(app);
  const open = async (screen, colorScheme, storageState) => (await browser.newContext({ ...screens[screen], colorScheme, storageState, locale: 'en', reducedMotion: 'reduce' })).newPage();
  const welcome = await open('desk', 'light');
  await welcome.goto(credentials.consoleUrl);
  await welcome.fill('#password', 'correct horse battery staple');
  await Promise.all([welcome.waitForURL(home), welcome.click('main form button')]);
  const state = await welcome.context().storageState();
  const shoot = (page, name, options = {}) => page.screenshot({ path: path.join(folder, `console-${name}.png`), ...options });

  const phone = await open('phone', 'light', state);
  await phone.goto(`${home}events/new`);
  await phone.tap(`label.chip:has([value="${of['Card payments']}"])`);
  await phone.fill('#title', 'Some card payments fail');
  await phone.tap('label:has-text("Partly down")');
  await phone.locator('.reach [role=status]', { hasText: 'Reaches' }).waitFor();
  await phone.evaluate(() => document.activeElement.blur());
  await phone.evaluate(() => scrollTo(0, document.querySelector('#components').getBoundingClientRect().top + scrollY - 72));
  await shoot(phone, 'report');
  await Promise.all([phone.waitForNavigation(), phone.tap('main .bar .btn:not(.second)')]);
  assert.match(phone.url(), /events\/[0-9a-f-]{36}$/);
  const event = phone.url();
  await phone.goto(home);
  await shoot(phone, 'overview');
  await phone.goto(`${event}?status=identified`);
  await phone.fill('#message', 'One of the two lines to our card provider is faulty. A second try often works.');
  await Promise.all([phone.waitForNavigation(), phone.tap('#update .bar .btn')]);
  await phone.locator('.counts .o', { hasText: '2,5' }).waitFor();
  await phone.evaluate(() => scrollTo(0, document.querySelector('#deliveries').getBoundingClientRect().bottom + scrollY - innerHeight + 88));
  await shoot(phone, 'event');

  const night = await open('desk', 'dark', state);
  await night.goto(`${home}dashboards/${shop.id}`);
  await night.locator('label:has-text("Dark")').last().click();
  await night.waitForTimeout(1500); // the preview is drawn again
  await shoot(night, 'dashboard');
  await browser.close();
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
