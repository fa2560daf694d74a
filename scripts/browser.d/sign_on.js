// Sets up single sign-on with the issuer of provider.js, and signs in with it.
'use strict';

const assert = require('node:assert/strict');

const issuer = 'https://login.example';

// setUp fills the form of single sign-on. The member is an admin.
async function setUp(member, again) {
  const { page } = member;
  await member.go('/sign-on');
  for (const [field, value] of [['name', 'acme'], ['label', 'Acme login'], ['issuer', issuer], ['clientId', 'bellbuoy'], ['clientSecret', 'wrong'], ['rolesClaim', 'groups']]) {
    await page.fill(`#${field}`, value);
  }
  await page.fill('#roleMap', 'status-admins');
  await page.check('[name=createMembers]');
  await member.send('main form:has(#issuer) button', 422);
  await member.check('sign-on-wrong');
  await page.fill('#clientSecret', 'wrong');
  await page.fill('#roleMap', 'status-admins = admin, event');
  await member.send('main form:has(#issuer) button');
  await again();
  await member.check('sign-on-filled');
  await member.send('text="Test the provider"');
  assert.match(await page.innerText('[role=status]'), /The provider responds/);
  await member.check('sign-on-tested');
}

// signOn signs a person in at the issuer. The issuer asks for the login and for consent once.
async function signOn(guest, login, status = 200) {
  const { page } = guest;
  await guest.go('/sign-in');
  guest.visitor.trouble.length = 0;
  guest.visitor.others = [issuer];
  await page.click('text="Acme login"');
  await page.waitForURL(`${issuer}/**`);
  await page.fill('[name=login]', login);
  await page.fill('[name=password]', 'any');
  await page.click('[type=submit]');
  await page.waitForURL(/interaction/);
  const [response] = await Promise.all([page.waitForResponse((r) => r.url().includes('/console/') && ![302, 303].includes(r.status())), page.click('[type=submit]')]);
  assert.equal(response.status(), status, await page.innerText('body'));
  await page.waitForLoadState();
  guest.visitor.others = [];
  await guest.visitor.findings(); // those of the issuer's pages
}

// withProvider signs people in with the issuer: one with a role by the claim, one without, and with a wrong secret nobody.
async function withProvider(admin, open, again) {
  await setUp(admin, again);
  const guest = await open();
  await signOn(guest, 'ida', 403);
  await guest.check('sign-on-refused');
  await admin.page.fill('#clientSecret', 'secret-of-the-client');
  await admin.send('main form:has(#issuer) button');
  await guest.visitor.context.clearCookies();
  await signOn(guest, 'ida');
  await guest.go('/users'); // for admins
  assert.match(await guest.page.innerText('main'), /ida@login\.example/);
  await guest.go('/profile/security');
  await guest.check('sign-on-security');
  await guest.send('.me form button');
  await guest.visitor.context.clearCookies();
  await signOn(guest, 'nobody', 403);
  await guest.check('sign-on-without-roles');
  await guest.visitor.close();
  return guest.found;
}

module.exports = { withProvider };
