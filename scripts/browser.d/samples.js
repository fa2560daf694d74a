// Serves the sample pages of services/events/internal/site. They show what a new platform does not have: a year of days, each state
// and each locale. A file policy beside each page contains its Content-Security-Policy.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');

// serve returns the samples as dashboards with the names of their pages.
async function serve(folder) {
  const server = http.createServer((request, response) => {
    const at = path.join(folder, new URL(request.url, 'http://sample').pathname);
    if (!fs.existsSync(path.join(at, 'index.html'))) return response.writeHead(404).end();
    const policy = fs.readFileSync(path.join(at, 'policy'), 'utf8');
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy });
    return response.end(fs.readFileSync(path.join(at, 'index.html')));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  const base = `http://127.0.0.1:${server.address().port}`;
  return Object.fromEntries(fs.readdirSync(folder).map((name) => [name, { name: `sample-${name}`, url: `${base}/${name}`, pages: pagesOf(path.join(folder, name)) }]));
}

function pagesOf(folder) {
  const found = fs.readdirSync(folder, { recursive: true }).filter((file) => path.basename(file) === 'index.html').map((file) => path.dirname(file)).sort();
  const counts = {};
  return Object.fromEntries(found.map((at) => {
    const [kind, below] = at.split('/');
    if (at === '.') return ['index', ''];
    if (below === undefined || !['components', 'events', 'history'].includes(kind)) return [at.replaceAll('/', '-'), at];
    counts[kind] = (counts[kind] ?? 0) + 1;
    return [`${{ components: 'component', events: 'event', history: 'month' }[kind]}-${counts[kind]}`, at];
  }));
}

module.exports = { serve };
