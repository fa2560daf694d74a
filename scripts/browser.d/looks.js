// Opens each page in each theme and width, with forced colours, with large text, and without script.
'use strict';

const { axe, layout, enlarge, space, content } = require('./page.js');
const { Visitor } = require('./visitor.js');

const heights = { 360: 740, 768: 1024, 1280: 800, 1920: 1080 };
const options = {
  light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, forced: { forcedColors: 'active', colorScheme: 'dark' }, scriptless: { javaScriptEnabled: false },
};

// enter types the password of a private dashboard, as a visitor does.
async function enter(visitor, dashboard) {
  await visitor.go(`${dashboard.url}/`, 403);
  await visitor.page.fill('#password', dashboard.password);
  await Promise.all([visitor.page.waitForURL(`${dashboard.url}/`), visitor.page.press('#password', 'Enter')]);
}

// look opens pages of a dashboard in a theme, and checks each in each width. It returns the findings.
async function look(bench, dashboard, names, theme, widths) {
  const found = [];
  const visitor = await Visitor.open(bench.browser, options[theme]);
  try {
    if (dashboard.password) await enter(visitor, dashboard);
    for (const name of names) {
      await visitor.page.setViewportSize({ width: widths[0], height: heights[widths[0]] });
      bench.keep(`${dashboard.name}-${name}`, await visitor.go(`${dashboard.url}/${dashboard.pages[name]}`, name === 'missing' ? 404 : 200));
      for (const width of widths) {
        await visitor.page.setViewportSize({ width, height: heights[width] });
        const here = await layout(visitor.page);
        if (theme !== 'scriptless') here.push(...await axe(visitor.page, theme)); // axe waits for timers
        found.push(...here.map((text) => `${name} ${theme} ${width}: ${text}`));
        if (bench.shows(name, width)) await bench.shoot(visitor.page, `${dashboard.name}-${name}-${theme}-${width}`);
      }
      found.push(...(await visitor.findings()).map((text) => `${name} ${theme}: ${text}`));
    }
  } finally {
    await visitor.close();
  }
  return found;
}

// magnify checks pages with text of double size, with wide text spacing, and in a quarter of the usual width.
async function magnify(bench, dashboard, names) {
  const found = [];
  const asIs = async () => {};
  for (const [width, change] of [[320, asIs], [640, enlarge], [1280, enlarge], [640, space], [1280, space]]) {
    const visitor = await Visitor.open(bench.browser, { viewport: { width, height: 800 } });
    for (const name of names) {
      await visitor.go(`${dashboard.url}/${dashboard.pages[name]}`);
      await change(visitor.page);
      found.push(...[...await layout(visitor.page), ...await visitor.findings()].map((text) => `${name} ${change.name} ${width}: ${text}`));
      if (bench.shows(name, width)) await bench.shoot(visitor.page, `${dashboard.name}-${name}-${change.name}-${width}`);
    }
    await visitor.close();
  }
  return found;
}

// compare returns the pages whose texts or links differ between a browser with and without scripts.
async function compare(bench, dashboard, names) {
  const found = [];
  const [full, bare] = [await Visitor.open(bench.browser), await Visitor.open(bench.browser, options.scriptless)];
  for (const name of names) {
    const seen = [];
    for (const visitor of [full, bare]) {
      await visitor.go(`${dashboard.url}/${dashboard.pages[name]}`);
      seen.push(JSON.stringify(await content(visitor.page)));
    }
    if (seen[0] !== seen[1]) found.push(`${name}: without script it is ${seen[1]}, with script ${seen[0]}`);
    if (await bare.page.locator('button:visible:not([type=submit])').count() > 0) found.push(`${name}: a button without script`);
  }
  await full.close();
  await bare.close();
  return found;
}

// knock enters wrong passwords until they are refused as too many, and checks the form each time.
async function knock(bench, dashboard) {
  const found = [];
  const visitor = await Visitor.open(bench.browser, { viewport: { width: 360, height: 740 } });
  const check = async (name) => {
    bench.keep(`${dashboard.name}-${name}`, await visitor.page.content());
    await bench.shoot(visitor.page, `${dashboard.name}-${name}`);
    found.push(...[...await axe(visitor.page), ...await layout(visitor.page), ...await visitor.findings()].map((text) => `${name}: ${text}`));
  };
  for (const at of ['', dashboard.pages['event-1']]) {
    bench.keep(`${dashboard.name}-enter`, await visitor.go(`${dashboard.url}/${at}`, 403));
    await check('enter');
  }
  for (const [name, status] of [['wrong', 403], ['late', 429]]) {
    for (let tries = 0; tries < 12; tries++) {
      await visitor.page.fill('#password', 'a wrong password');
      const [response] = await Promise.all([visitor.page.waitForNavigation(), visitor.page.press('#password', 'Enter')]);
      if (response.status() === status) break;
    }
    const field = await visitor.page.evaluate(() => document.querySelector(`#${document.querySelector('#password').getAttribute('aria-describedby')}`).textContent);
    if (!field) found.push(`${name}: the field does not name its problem`);
    await check(name);
  }
  await visitor.close();
  return found;
}

module.exports = { look, magnify, compare, knock };
