// Walks through the web console as the first admin: the link of the first start, an authenticator app, a passkey, keys,
// members, a conflict, an ended session. Each page and state is checked in each theme and width, without script, and by
// keyboard alone.
'use strict';

const assert = require('node:assert/strict');
const { createHmac } = require('node:crypto');
const hostile = require('./hostile.js');
const { walk } = require('./keyboard.js');
const { axe, layout, enlarge, space } = require('./page.js');
const { withProvider } = require('./sign_on.js');
const { Visitor } = require('./visitor.js');

const password = 'correct horse battery staple';
const heights = { 360: 740, 768: 1024, 1280: 800, 1920: 1080 };
const themes = {
  light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, forced: { forcedColors: 'active', colorScheme: 'dark' }, scriptless: { javaScriptEnabled: false },
};

// code returns the code that an authenticator app with the secret shows, steps of 30 s from now.
function code(secret, steps = 0) {
  const bits = [...secret.replace(/\s/g, '')].map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const mac = createHmac('sha1', key).update(counter).digest();
  const at = mac[19] & 15;
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

class Member {
  static async open(bench, base, options = {}) {
    const member = new Member();
    Object.assign(member, { bench, base, found: [], visitor: await Visitor.open(bench.browser, { viewport: { width: 1280, height: 800 }, ...options }) });
    member.visitor.origin = new URL(base).origin;
    member.page = member.visitor.page;
    return member;
  }

  // go opens a page below /console.
  go(path, status = 200) { return this.visitor.go(this.base + path, status); }

  // open opens a page below /console, or, if the path is a list of an address, a selector and an end, the page to which the first
  // such link of the address leads.
  async open(path, status = 200) {
    if (!Array.isArray(path)) return this.go(path, status);
    const [list, link, end = ''] = path;
    await this.go(list);
    return this.go((await this.page.locator(link).first().getAttribute('href')).replace('/console', '') + end, status);
  }

  // send presses the button and returns the path and the status of the next page.
  async send(button, status = 200) {
    const [response] = await Promise.all([this.page.waitForNavigation(), this.page.locator(button).first().click()]);
    assert.equal(response.status(), status, `${this.page.url()}: ${(await this.page.innerText('main')).slice(0, 300)}`);
    return new URL(this.page.url()).pathname.replace('/console', '');
  }

  // check checks the state of the page that is shown, in each theme and width, in the short form in two of them.
  async check(name, scripts = true) {
    this.bench.keep(`console-${name}`, await this.page.content());
    for (const [theme, widths] of this.bench.short ? [['light', [360]], ['dark', [1280]]] : [['dark', [360, 1280]], ['forced', [360]], ['light', [360, 768, 1280, 1920]]]) {
      await this.page.emulateMedia({ colorScheme: 'light', forcedColors: 'none', ...(scripts ? themes[theme] : {}) });
      for (const width of widths) {
        await this.page.setViewportSize({ width, height: heights[width] });
        const here = [...await layout(this.page), ...(scripts ? await axe(this.page, theme) : [])];
        this.found.push(...here.map((text) => `${name} ${theme} ${width}: ${text}`));
        if ([360, 1280].includes(width)) await this.bench.shoot(this.page, `console-${name}-${theme}-${width}`);
      }
    }
    await this.page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' });
    this.found.push(...(await this.visitor.findings()).map((text) => `${name}: ${text}`));
  }

  // again confirms that it is the member, if the console asks. secret is that of the member's app.
  async again(secret) {
    if (await this.page.locator('form[action^="/console/sign-in/again"] #password').count() === 0) return;
    await this.check('again');
    await this.page.fill('#password', password);
    if (secret) await this.page.fill('#code', code(secret, 1));
    await this.send('main form:has(#password) button');
  }
}

// addApp sets up an authenticator app, signs out and in with it, and returns its secret.
async function addApp(member) {
  const { page } = member;
  await member.go('/profile/security/app');
  await member.check('app');
  await member.send('main form button');
  const secret = (await page.textContent('#secret')).trim();
  await member.check('app-code');
  await page.fill('#code', '000000');
  await member.send('main form button', 422);
  await member.check('app-wrong');
  await page.fill('#code', code(secret));
  await member.send('main form button');
  const codes = await page.locator('#codes code').allTextContents();
  assert.equal(codes.length, 10);
  await member.check('codes');
  await signOut(member);
  await signIn(member, 'admin');
  await page.fill('#code', '000000');
  await member.check('sign-in-code');
  await member.send('main form button', 422);
  await page.fill('#code', code(secret, 1));
  await member.send('main form button');
  return { secret, codes };
}

async function signOut(member) {
  await member.page.setViewportSize({ width: 1280, height: 800 });
  assert.equal(await member.send('.me form button'), '/sign-in');
  await member.check('signed-out');
}

async function signIn(member, name, status = 200) {
  await member.go('/sign-in');
  await member.page.fill('#username', name);
  await member.page.fill('#password', password);
  return member.send('main form:has(#username) button', status);
}

// passkeys adds a passkey, signs in with it, renames and removes it.
async function passkeys(member) {
  const { page } = member;
  const devtools = await member.visitor.context.newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  await member.go('/profile/security/passkeys/new');
  await member.check('passkey-new');
  await page.route('**/passkeys/options', (route) => route.fulfill({ status: 403, json: { again: true } }), { times: 1 });
  await page.fill('#name', 'Work & home');
  assert.equal(await member.send('main form button'), '/sign-in/again');
  await member.go(new URL(page.url()).searchParams.get('next').replace('/console', ''));
  assert.equal(await page.inputValue('#name'), 'Work & home');
  await page.fill('#name', hostile.texts(60)[1]);
  assert.equal(await member.send('main form button'), '/profile/security');
  await member.check('passkey-added');
  // The browser offers the passkey by itself, and the device agrees at once.
  await Promise.all([page.waitForURL(/sign-in/, { waitUntil: 'commit' }), page.locator('.me form button').click()]);
  await page.waitForURL(`${member.base}/`);
  await member.go('/profile/security');
  await member.send('section[aria-labelledby=passkeys] .to a');
  await member.check('passkey');
}

// look opens every page in a theme and each width.
async function look(bench, state, base, names, theme, widths) {
  const member = await Member.open(bench, base, { ...themes[theme], storageState: state });
  for (const [name, path, status] of names) {
    const html = await member.open(path, status);
    if (theme === 'light') bench.keep(`console-page-${name}`, html);
    for (const width of widths) {
      await member.page.setViewportSize({ width, height: heights[width] });
      const here = [...await layout(member.page), ...(theme === 'scriptless' ? [] : await axe(member.page, theme))];
      member.found.push(...here.map((text) => `${name} ${theme} ${width}: ${text}`));
      if ([360, 1280].includes(width)) await bench.shoot(member.page, `console-${name}-${theme}-${width}`);
    }
    member.found.push(...(await member.visitor.findings()).map((text) => `${name} ${theme}: ${text}`));
  }
  await member.visitor.close();
  return member.found;
}

// magnify checks pages with text of double size, with wide spacing, and in a quarter of the usual width.
async function magnify(bench, state, base, names) {
  const found = [];
  for (const [width, change] of [[320, async () => {}], [1280, enlarge], [640, space]]) {
    const member = await Member.open(bench, base, { storageState: state, viewport: { width, height: 800 } });
    for (const [name, path, status] of names) {
      await member.open(path, status);
      await change(member.page);
      found.push(...[...await layout(member.page), ...await member.visitor.findings()].map((text) => `${name} ${change.name} ${width}: ${text}`));
      await bench.shoot(member.page, `console-${name}-magnified-${width}`);
    }
    await member.visitor.close();
  }
  return found;
}

// keyboard presses Tab through every page.
async function keyboard(bench, state, base, names) {
  const member = await Member.open(bench, base, { storageState: state });
  for (const [name, path, status] of names) {
    await member.open(path, status);
    member.found.push(...(await walk(member.page)).map((text) => `${name}: ${text}`));
  }
  await member.visitor.close();
  return member.found;
}

// members invites a member with hostile names, meets a conflict, and disables and enables the member.
async function members(member, secret) {
  const { page } = member;
  await member.go('/users/new');
  await member.send('main form button', 422);
  await member.check('invite-wrong');
  const name = hostile.texts(100);
  await page.fill('#username', 'grace');
  await page.fill('#firstName', name[1]);
  await page.fill('#lastName', name[4]);
  await page.fill('#email', 'grace@example.com');
  await page.check('[value=event]');
  await member.send('main form button');
  await member.again(secret);
  await member.check('invited');
  const link = await page.textContent('#link');
  await member.go('/users?q=grace');
  await member.send('.rows .to a');
  await member.check('member');
  const second = await member.visitor.context.newPage();
  await second.goto(page.url());
  await second.fill('#lastName', 'Hopper');
  await Promise.all([second.waitForNavigation(), second.click('main form:has(#lastName) button')]);
  await second.close();
  member.visitor.trouble = member.visitor.trouble.filter((text) => !text.startsWith('a window opened'));
  await page.fill('#lastName', 'Brewster');
  await member.send('main form:has(#lastName) button', 409);
  await member.check('conflict');
  await member.send('text=Keep mine');
  assert.equal(await page.inputValue('#lastName'), 'Brewster');
  await member.send('text="Disable"');
  await member.check('disabled');
  await member.send('text="Undo"');
  await page.locator('a[href$="/delete"]').click();
  await page.locator('dialog[open] .danger').waitFor();
  await member.check('delete-dialog');
  await page.keyboard.press('Escape');
  return link;
}

// mistakes sends the forms of events, templates, components and dashboards with wrong input.
async function mistakes(member) {
  const fill = async (name, path, fields, button) => {
    await member.open(path);
    for (const [id, text] of Object.entries(fields)) await member.page.fill(`#${id}`, text);
    await member.send(button, 422);
    await member.check(`${name}-wrong`);
  };
  const first = 'main form .btn:not(.second)';
  await fill('incident', '/events/new', { title: '', message: hostile.texts(400)[1] }, 'main .bar .btn:not(.second)');
  await fill('maintenance', '/events/new/maintenance', { scheduledStartAt: '' }, 'main .bar .btn:not(.second)');
  await fill('update', event, { message: '' }, '#update .bar .btn');
  await fill('template', '/templates/new', { name: '' }, first);
  await fill('component', '/components/new', { name: '' }, first);
  await fill('dashboard', dashboard, { name: '', primaryColor: 'red', navigation: hostile.texts(80)[1] }, '#tab .bar .btn');
}

// keys creates a key, and calls the App interface with the line that the page shows.
async function keys(member) {
  const { page } = member;
  await member.go('/profile/keys');
  await page.fill('#name', hostile.texts(80)[0]);
  await member.send('main form:has(#name) button');
  await member.check('key-new');
  const [, header, url] = /-H '([^']*)' (\S+)/.exec(await page.textContent('#curl'));
  const response = await fetch(url, { headers: { Authorization: header.replace('Authorization: ', '') } });
  assert.equal(response.status, 200);
  await member.go('/profile/keys');
  await member.check('keys');
}

// arrange puts two components in a group, which moves as a whole: by its handle, by a button, and saved.
async function arrange(member) {
  const { page } = member;
  await member.go('/');
  await member.send('nav a[href*="/dashboards/0"]');
  await member.go(`${new URL(page.url()).pathname.replace('/console', '')}/components`);
  const groups = page.locator('[name=groups]');
  assert.ok(await groups.count() > 2);
  for (const n of [0, 1]) await groups.nth(n).fill(`${hostile.texts(40)[0]} of two`);
  await member.send('#tab .bar .btn');
  await member.check('groups');
  const order = () => page.evaluate(() => [...document.querySelectorAll('[data-order] > .group')].map((row) => `${row.querySelectorAll('[name=components]').length} in ${row.dataset.name}`));
  const [one, other, ...more] = await order();
  assert.match(one, /^2 in .* of two$/);
  await page.setViewportSize({ width: 1280, height: 3000 });
  const [from, to] = [await page.locator('.over [data-handle]').first().boundingBox(), await page.locator('.group').nth(1).boundingBox()];
  await page.mouse.move(from.x + 5, from.y + 5);
  await page.mouse.down();
  await page.mouse.move(from.x + 5, to.y + to.height - 5, { steps: 20 });
  await page.mouse.up();
  assert.deepEqual(await order(), [other, one, ...more]);
  await page.locator('.over [value^="up "]').nth(1).click();
  assert.deepEqual(await order(), [one, other, ...more]);
  await page.locator('.over [value^="down "]').first().press('Enter');
  await member.send('#tab .bar .btn');
  assert.deepEqual(await order(), [other, one, ...more]);
}

// keeps lets the session end while groups are typed, and then the secrets of a webhook. Each component has its own group after
// the sign-in. The tab keeps no secret, and afterwards nothing.
async function keeps(member) {
  const { page } = member;
  const kept = () => page.evaluate(() => Object.values(sessionStorage).join());
  const again = async (button) => {
    await member.visitor.context.clearCookies();
    assert.equal(await member.send(button), '/sign-in');
    const text = await kept();
    await page.fill('#username', 'admin');
    await page.fill('#password', password);
    await member.send('main form:has(#username) button');
    assert.equal(await kept(), '');
    return text;
  };
  await member.open([...dashboard, '/components']);
  const groups = page.locator('[name=groups]');
  await groups.nth(0).fill('First');
  await groups.nth(1).fill('Second');
  await page.locator('[name=move][value^="down "]').first().click();
  await again('#tab .bar .btn');
  assert.deepEqual([await groups.nth(0).inputValue(), await groups.nth(1).inputValue()], ['First', 'Second']);
  await member.go('/integrations/webhook/new?start=own');
  await page.fill('#url', 'https://hooks.example.com/kept');
  await page.fill('#secrets', 'key: not-to-be-kept');
  const text = await again('main form:has(#url) .btn');
  assert.ok(text.includes('hooks.example.com') && !text.includes('not-to-be-kept'), text);
  assert.equal(await page.inputValue('#url'), 'https://hooks.example.com/kept');
  await member.go('/templates/new');
  await member.send('main form .btn:not(.second)', 422);
  assert.equal(await kept(), '');
}

// resumes lets the session end while a form is filled. After the sign-in the form is as it was.
async function resumes(member) {
  const { page } = member;
  await member.go('/profile');
  await page.fill('#timeZone', 'Asia/Tokyo');
  await page.locator('label:has-text("Compact")').click();
  await member.visitor.context.clearCookies();
  assert.equal(await member.send('main form button'), '/sign-in');
  await page.fill('#username', 'grace');
  await page.fill('#password', password);
  assert.equal(await member.send('main form:has(#username) button'), '/profile');
  assert.deepEqual([await page.inputValue('#timeZone'), await page.isChecked('[value=compact]')], ['Asia/Tokyo', true]);
  await member.check('resumed');
  await page.keyboard.press('Control+Enter'); // outside of a field it sends nothing
  await page.focus('#timeZone');
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Control+Enter')]);
  assert.equal(await page.inputValue('#timeZone'), 'Asia/Tokyo');
  await page.keyboard.press('Tab');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('?');
  await member.check('shortcuts');
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await Promise.all([page.waitForNavigation(), page.keyboard.press('s')]);
  assert.match(page.url(), /security$/);
}

// meets lets the session end while an event is changed, and a colleague change the event meanwhile. The typed values do not
// replace the colleague's: the member sees both.
async function meets(member, colleague) {
  await member.open([...event, '/edit']);
  const path = new URL(member.page.url()).pathname.replace('/console', '');
  await member.page.fill('#coordinator', 'Grace');
  await member.visitor.context.clearCookies();
  await colleague.go(path);
  await colleague.page.fill('#coordinator', 'Ada');
  await colleague.send('main form:has(#coordinator) .bar .btn:not(.second)');
  assert.equal(await member.send('main form:has(#coordinator) .bar .btn:not(.second)'), '/sign-in');
  await member.page.fill('#username', 'grace');
  await member.page.fill('#password', password);
  assert.equal(await member.send('main form:has(#username) button'), path);
  await member.send('main form:has(#coordinator) .bar .btn:not(.second)', 409);
  const text = await member.page.innerText('main');
  assert.ok(text.includes('Grace') && text.includes('Ada'), text);
}

const event = ['/events', 'main a[href*="/events/0"]'];
const component = ['/components', 'main a[href*="/components/0"]'];
const dashboard = ['/', 'nav a[href*="/dashboards/0"]'];
const subscriber = ['/subscribers/email?q=wwww', 'main .to a[href*="/subscribers/email/"]'];
const pages = [
  ['events', '/events'], ['events-past', '/events?view=past'], ['drafts', '/events?view=drafts'], ['event', event], ['event-edit', [...event, '/edit']], ['event-delete', [...event, '/delete']],
  ['event-post-mortem', [...event, '/post-mortem']], ['incident-new', '/events/new'], ['maintenance-new', '/events/new/maintenance'], ['templates', '/templates'],
  ['template-new', '/templates/new'], ['components', '/components'], ['component-new', '/components/new'], ['component', component], ['component-delete', [...component, '/delete']],
  ['dashboard', dashboard], ['dashboard-content', [...dashboard, '/content']], ['dashboard-components', [...dashboard, '/components']], ['dashboard-access', [...dashboard, '/access']],
  ['dashboard-domains', [...dashboard, '/domains']], ['dashboard-subscriptions', [...dashboard, '/subscriptions']], ['dashboard-new', '/dashboards/new'], ['dashboards', '/dashboards'],
  ['subscribers', '/subscribers/email'], ['subscribers-none', '/subscribers/email?q=nobody'], ['subscribers-sms', '/subscribers/sms'], ['subscriber-new', '/subscribers/email/new'], ['subscriber-import', '/subscribers/email/import'], ['move', '/import'], ['move-undo', '/import/undo'],
  ['subscriber', subscriber], ['subscriber-confirm', [...subscriber, '/confirm']], ['subscriber-delete', [...subscriber, '/delete']],
  ['integrations', '/integrations/webhook'], ['integrations-none', '/integrations/gchat?state=failing'], ['suppressions', '/integrations/teams/suppression'], ['integration-new', '/integrations/webhook/new'],
  ['integration-template', '/integrations/webhook/new?start=pagerduty'], ['integration-ntfy', '/integrations/webhook/new?start=ntfy'], ['integration-matrix', '/integrations/webhook/new?start=matrix'], ['integration-slack', '/integrations/slack/new'], ['integrations-wrong', '/integrations/webhook?state=x', 422], ['events-wrong', '/events?type=x', 422], ['events-no-view', '/events?view=x', 422], ['components-wrong', '/components?status=x', 422], ['templates-wrong', '/templates?kind=x', 422],
  ['inbound', '/inbound'], ['inbound-problems', '/inbound/problems'], ['inbound-arrivals', '/inbound/arrivals'],
  ['deliveries', '/deliveries/email'], ['deliveries-none', '/deliveries/sms?status=failed'], ['deliveries-wrong', '/deliveries/email?from=x', 422], ['why', '/deliveries/why'], ['why-webhook', '/deliveries/why?kind=webhook'],
  ['find', '/find'], ['find-some', '/find?q=w'], ['find-none', '/find?q=nothing+like+that'], ['find-wrong', `/find?q=${'x'.repeat(201)}`, 422], ['shortcuts', '/profile/shortcuts'], ['report', '/reports/uptime'], ['report-year', '/reports/uptime?year=2026'], ['report-wrong', '/reports/uptime?month=x', 422],
  ['overview', '/'], ['profile', '/profile'], ['security', '/profile/security'], ['password', '/profile/security/password'], ['keys', '/profile/keys'], ['members', '/users'],
  ['nobody', '/users?q=nobody'], ['invite', '/users/new'], ['organization', '/organization'], ['sign-on', '/sign-on'], ['setup', '/setup'], ['audit', '/audit'], ['audit-none', '/audit?action=x.y'],
  ['audit-wrong', '/audit?from=x', 422], ['sign-out', '/sign-out'], ['missing', '/nothing', 404], ['menu', '/#menu'],
];
const gates = [
  ['sign-in', '/sign-in'], ['forgotten', '/forgotten'], ['link-gone', '/welcome?token=x', 404], ['sso', '/sign-in/sso'],
];

// first starts with the link of the first start. It returns the findings.
async function first(bench, credentials, state) {
  const base = `${new URL(credentials.consoleUrl).origin}/console`;
  const member = await Member.open(bench, base);
  const { page } = member;
  await member.visitor.go(credentials.consoleUrl);
  await member.check('welcome');
  await page.fill('#password', 'short');
  await member.send('main form button', 422);
  await member.check('welcome-wrong');
  await page.fill('#password', password);
  assert.equal(await member.send('main form button'), '/');
  await member.check('first-overview');
  await keeps(member);
  const { secret } = await addApp(member);
  const link = await members(member, secret);
  await mistakes(member);
  await keys(member);
  await arrange(member);
  await passkeys(member);
  member.found.push(...await withProvider(member, () => Member.open(bench, base, { ignoreHTTPSErrors: true }), () => member.again(secret)));
  await member.visitor.context.storageState({ path: state });
  const guest = await Member.open(bench, base, { javaScriptEnabled: false });
  await guest.visitor.go(link);
  await guest.page.fill('#password', password);
  assert.equal(await guest.send('main form button'), '/');
  await guest.check('scriptless-guest', false);
  await guest.go('/users', 403);
  await guest.check('scriptless-forbidden', false);
  await guest.go('/profile');
  await guest.page.fill('#timeZone', 'Europe/Berlin');
  await guest.page.locator('label:has-text("Compact")').click();
  await guest.send('main form button');
  await guest.check('scriptless-saved', false);
  await guest.send('.me form button');
  assert.equal(await signIn(guest, 'grace'), '/');
  await guest.visitor.close();
  const grace = await Member.open(bench, base);
  assert.equal(await signIn(grace, 'grace'), '/');
  await resumes(grace);
  await meets(grace, member);
  await grace.visitor.close();
  const stranger = await Member.open(bench, base);
  assert.equal(await signIn(stranger, 'nobody', 422), '/sign-in');
  await stranger.check('sign-in-wrong');
  await stranger.visitor.close();
  await member.visitor.close();
  return [...member.found, ...guest.found, ...grace.found, ...stranger.found];
}

module.exports = { first, look, magnify, keyboard, pages, gates };
