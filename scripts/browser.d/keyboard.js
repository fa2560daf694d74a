// Checks the pages for a visitor who uses only the keyboard.
'use strict';

const assert = require('node:assert/strict');
const { Visitor } = require('./visitor.js');

// focus returns what is wrong with the element that has the focus: it must be visible, and marked as focused.
function focus(page) {
  return page.evaluate(() => {
    const e = document.activeElement;
    if (e.matches('body, iframe')) return []; // Tab has left the page
    const wrong = [];
    const name = `<${e.localName} class="${e.getAttribute('class') ?? ''}"> ${(e.ariaLabel ?? e.textContent).trim().slice(0, 40)}`;
    const style = getComputedStyle(e);
    if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) wrong.push(`${name} has no outline`);
    const rect = e.getClientRects()[0];
    if (rect.bottom < 1 || rect.top > innerHeight - 1 || rect.right < 1 || rect.left > innerWidth - 1) return [...wrong, `${name} is out of sight`];
    const over = document.elementFromPoint(rect.left + rect.width / 2, Math.max(1, Math.min(rect.top + rect.height / 2, innerHeight - 1)));
    if (!e.contains(over) && !over?.closest('label')?.contains(e)) wrong.push(`${name} is behind ${over?.outerHTML.slice(0, 80)}`);
    return wrong;
  });
}

// walk presses Tab from the start of the page to its end. It returns the elements that Tab does not reach or reaches out of
// order, and the focused elements that are hidden or not marked as focused.
async function walk(page) {
  const total = await page.evaluate(() => {
    const parts = document.querySelectorAll('a[href], button:enabled, input, select, textarea, summary, iframe, .bar');
    window.stops = [...parts].filter((e) => e.tabIndex >= 0 && e.checkVisibility({ visibilityProperty: true }) && (e.type !== 'radio' || e.checked));
    return window.stops.length;
  });
  const found = [];
  for (let n = 0; n < total; n++) {
    do await page.keyboard.press('Tab'); // a date has a stop for each part, and a frame one for each link
    while (await page.evaluate((at) => at > 0 && document.activeElement === window.stops[at - 1] && document.activeElement.matches('[type^=date], iframe'), n));
    const astray = await page.evaluate((at) => {
      const e = document.activeElement;
      return window.stops[at] !== e && `${at + 1}. ${e.outerHTML.slice(0, 80)} has the focus in place of ${window.stops[at].outerHTML.slice(0, 80)}`;
    }, n);
    found.push(...astray ? [astray] : (await focus(page)).map((text) => `${n + 1}. ${text}`));
  }
  do await page.keyboard.press('Tab');
  while (await page.evaluate(() => document.activeElement.matches('iframe')));
  const rest = await page.evaluate(() => document.activeElement !== document.body && window.stops.indexOf(document.activeElement) !== 0 && document.activeElement.outerHTML.slice(0, 80));
  if (rest) found.push(`${rest} has the focus after the last`);
  return found;
}

// walks checks the order of focus on pages.
async function walks(bench, dashboard, names, status = 200) {
  const found = [];
  const visitor = await Visitor.open(bench.browser, { viewport: { width: 1280, height: 800 } });
  for (const name of names) {
    await visitor.go(`${dashboard.url}/${dashboard.pages[name]}`, status);
    found.push(...(await walk(visitor.page)).map((text) => `${name}: ${text}`));
  }
  await visitor.close();
  return found;
}

// bar selects days of a bar that has events on several days, with the keys and with the pointer.
async function bar(bench, dashboard) {
  const visitor = await Visitor.open(bench.browser, { viewport: { width: 1280, height: 800 } });
  const { page } = visitor;
  // An update of the page would end the selection, or change the duration of a problem of today.
  await page.route(() => true, (route) => route.request().resourceType() === 'fetch' ? undefined : route.fallback());
  await visitor.go(`${dashboard.url}/`);
  const tip = () => page.textContent('#tip');
  const one = page.locator('.bar[role=group]').first();
  await one.focus();
  assert.equal(await page.evaluate(() => document.activeElement.querySelectorAll('[tabindex="0"]').length), 0, 'a bar is one tab stop');
  const today = await tip();
  assert.notEqual(today, '');
  await page.keyboard.press('ArrowRight');
  assert.equal(await tip(), today, 'no day after today');
  await page.keyboard.press('ArrowLeft');
  const yesterday = await tip();
  assert.notEqual(yesterday, today);
  await page.keyboard.press('Home');
  const first = await tip();
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await tip(), first);
  await page.keyboard.press('ArrowLeft');
  assert.equal(await tip(), first);
  await page.keyboard.press('Escape');
  assert.equal(await tip(), '', 'Escape hides the text of the day');
  await page.keyboard.press('End');
  assert.equal(await tip(), today);
  const seen = await page.locator('#tip').boundingBox();
  assert.ok(seen.x >= 0 && seen.x + seen.width <= 1280, 'the text of the day is on the page');
  const links = await one.evaluate((e) => Object.fromEntries([...e.querySelectorAll('a')].map((a) => [a.ariaLabel, a.href.baseVal])));
  let label = await tip();
  for (let n = 0; !(label in links) && n < 90; n++) {
    await page.keyboard.press('ArrowLeft');
    label = await tip();
  }
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  assert.equal(page.url(), new URL(links[label], `${dashboard.url}/`).href, 'Enter opens what happened');
  await visitor.go(`${dashboard.url}/`);
  const { width, height } = await one.boundingBox();
  await one.hover({ position: { x: width - 2, y: height / 2 } });
  const pointed = await tip();
  await one.focus(); // the page may have been updated with a longer duration of the problem of today
  await page.keyboard.press('End');
  assert.equal(pointed, await tip(), 'the pointer shows the day');
  await page.keyboard.press('Escape');
  assert.equal(await tip(), '');
  const found = await visitor.findings();
  await visitor.close();
  return found;
}

// parts opens and closes a part of the page, and skips the header.
async function parts(bench, dashboard) {
  const visitor = await Visitor.open(bench.browser, { viewport: { width: 1280, height: 800 } });
  const { page } = visitor;
  await visitor.go(`${dashboard.url}/`);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main', 'the first link leads to the content');
  const part = page.locator('main details').first();
  const open = await part.evaluate((e) => e.open);
  await part.locator('summary').focus();
  await page.keyboard.press('Enter');
  assert.equal(await part.evaluate((e) => e.open), !open);
  await page.keyboard.press('Space');
  assert.equal(await part.evaluate((e) => e.open), open);
  const found = await visitor.findings();
  await visitor.close();
  return found;
}

module.exports = { focus, walk, walks, bar, parts };
