// An issuer of single sign-on, the library oidc-provider: provider.js CREDENTIALS CA ADDRESS. The file CA receives its
// certificate, and ADDRESS its host and port on this machine. Its name is login.example. Each login and password is
// right; the login is the person. The redirect URL comes from CREDENTIALS, which the platform writes after its start.
'use strict';

const fs = require('node:fs');
const https = require('node:https');
const selfsigned = require('selfsigned');

const [credentials, ca, address] = process.argv.slice(2);
const issuer = 'https://login.example';

// person returns the account with the login.
const person = (context, login) => ({
  accountId: login,
  claims: () => ({
    sub: login, email: `${login}@login.example`, email_verified: true, given_name: login, family_name: 'Login', groups: login === 'nobody' ? [] : ['status-admins'],
  }),
});

async function provider() {
  const { default: Provider } = await import(require.resolve('oidc-provider'));
  const { consoleUrl, organizationId } = JSON.parse(fs.readFileSync(credentials, 'utf8'));
  const oidc = new Provider(issuer, {
    clients: [{ client_id: 'bellbuoy', client_secret: 'secret-of-the-client', redirect_uris: [`${new URL(consoleUrl).origin}/console/sign-in/sso-callback/${organizationId}`] }],
    claims: { email: ['email', 'email_verified'], profile: ['given_name', 'family_name', 'groups'] },
    cookies: { keys: ['key-of-the-cookies'] },
    findAccount: person,
  });
  return oidc.callback();
}

async function main() {
  const { private: key, cert } = await selfsigned.generate([{ name: 'commonName', value: 'login.example' }], {
    extensions: [{ name: 'basicConstraints', cA: true }, { name: 'subjectAltName', altNames: [{ type: 2, value: 'login.example' }] }],
  });
  let answer;
  const server = https.createServer({ key, cert }, (request, response) => {
    answer ??= provider();
    answer.then((handle) => handle(request, response), (error) => response.writeHead(500).end(error.stack));
  });
  server.listen(0, '127.0.0.1', () => {
    fs.writeFileSync(ca, cert);
    fs.writeFileSync(address, `127.0.0.1:${server.address().port}`);
  });
}

main();
