// A visitor opens pages in Chromium and collects everything that a page must never do: errors and warnings on the console,
// violations of the Content-Security-Policy, dialogs, downloads, other windows, and requests to another origin.
'use strict';

const { chromium } = require('playwright-core');

const image = '<svg xmlns="http://www.w3.org/2000/svg" width="160" height="40"><rect width="160" height="40" fill="#f60"/></svg>';

// The origins from which pages may load images: those of the dashboards' logos, and the host of the samples, to which the
// page for an unknown address links.
const known = ['https://img.example.com', 'https://x.example', 'https://status.example.com'];

// launch starts Chromium. It finds login.example, the issuer of provider.js, at the address ISSUER.
const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ['--no-sandbox', '--disable-dev-shm-usage', `--host-resolver-rules=MAP login.example ${process.env.ISSUER}`],
});

// fresh returns the text of a page of a dashboard. The gateway sends a page that it kept from before if the events service is
// slow. Such a page has the header Age, and fresh requests it again.
async function fresh(url) {
  for (let tries = 0; tries < 200; tries++) {
    const response = await fetch(url);
    const text = await response.text();
    if (!response.headers.has('age')) return text;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  throw new Error(`the gateway still sends a page that it kept: ${url}`);
}

class Visitor {
  // open returns a visitor with a page. The options are those of a context of the browser.
  static async open(browser, options = {}) {
    const visitor = new Visitor();
    visitor.trouble = [];
    visitor.others = []; // other origins whose pages the visitor may open
    visitor.context = await browser.newContext({ locale: 'en', timezoneId: 'America/New_York', reducedMotion: 'reduce', ...options });
    visitor.context.setDefaultTimeout(120_000); // a busy machine is slow
    visitor.context.setDefaultNavigationTimeout(120_000);
    await visitor.context.addInitScript(() => {
      window.reports = [];
      document.addEventListener('securitypolicyviolation', (e) => window.reports.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
    });
    visitor.page = await visitor.context.newPage();
    visitor.watch(visitor.page);
    visitor.context.on('page', (page) => visitor.trouble.push(`a window opened: ${page.url()}`));
    return visitor;
  }

  watch(page) {
    page.on('console', (message) => {
      const refused = message.text().startsWith('Failed to load resource'); // go checks the status of a page
      if (['error', 'warning'].includes(message.type()) && !refused) this.trouble.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => this.trouble.push(`error: ${error.message}`));
    page.on('download', (download) => this.trouble.push(`download: ${download.url()}`));
    page.on('dialog', (dialog) => {
      this.trouble.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.route(() => true, (route) => {
      const url = new URL(route.request().url());
      if (url.origin === this.origin || this.others.includes(url.origin) || url.protocol === 'data:') return route.fallback();
      if (known.includes(url.origin) && ['image', 'other'].includes(route.request().resourceType())) return route.fulfill({ contentType: 'image/svg+xml', body: image });
      this.trouble.push(`request to ${url}`);
      return route.abort();
    });
  }

  // go opens the address and returns its HTML. The response has the status. A session may request 600 pages in a minute, so go
  // waits when it must.
  async go(url, status = 200) {
    this.origin = new URL(url).origin;
    let response = await this.page.goto(url, { waitUntil: 'load' });
    for (let tries = 0; response.status() === 429 && status !== 429 && tries < 3; tries++) {
      this.trouble.splice(0, this.trouble.length, ...this.trouble.filter((text) => !String(text).includes('429'))); // the browser reports the refusal
      await new Promise((resolve) => setTimeout(resolve, 1000 * (Number(response.headers()['retry-after']) || 10)));
      response = await this.page.goto(url, { waitUntil: 'load' });
    }
    if (response.status() !== status) throw new Error(`${url} has the status ${response.status()}`);
    return response.text();
  }

  // findings returns what was collected since the last call.
  async findings() {
    const found = this.trouble.splice(0);
    const reports = await this.page.evaluate(() => window.reports?.splice(0) ?? []);
    return [...found, ...reports.map((report) => `policy: ${report}`)];
  }

  close() {
    return this.context.close();
  }
}

module.exports = { fresh, launch, Visitor };
