/** Reading the declarative file: what is accepted, and the error for each fault. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { BadDeclaration } from '../../packages/server/src/declarative/bad-declaration.ts'
import { checkMeaning } from '../../packages/server/src/declarative/check-meaning.ts'
import { declarationJsonSchema } from '../../packages/server/src/declarative/json-schema.ts'
import { readDeclaration, readSettings } from '../../packages/server/src/declarative/read.ts'
import { resolveSecrets } from '../../packages/server/src/declarative/secrets.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-declarative-'))
after(() => rmSync(folder, { recursive: true }))

function read(text: string, name = 'gatehouse.yaml') {
  writeFileSync(join(folder, name), text)
  return readDeclaration(join(folder, name))
}

/** All faults of a file, each as `path: text`. */
function findFaults(declaration: object): string[] {
  try {
    const file = read(JSON.stringify(declaration), 'gatehouse.json')
    return checkMeaning(file.declaration, ['existing']).map(({ path, text }) => `${path}: ${text}`)
  } catch (error) {
    if (!(error instanceof BadDeclaration)) throw error
    return error.faults.map(({ path, text }) => `${path}: ${text}`)
  }
}

const WEB = { client_id: 'web', client_secret: 'secret', redirect_uris: ['https://app.example.com/callback'] }

test('the file may be JSON, also with tabs, or YAML', () => {
  const expected = { users: [{ username: 'alice', roles: ['trader'] }], roles: [{ name: 'trader' }] }
  assert.deepEqual(read(JSON.stringify(expected, null, '\t'), 'a.json').declaration, expected)
  assert.deepEqual(
    read('users:\n  - username: alice\n    roles: [trader]\nroles:\n  - name: trader\n').declaration,
    expected,
  )
})

test('a list or a map is no name, however deep', () => {
  for (const text of ['? [users]\n: 1\n', 'users:\n  - { { a: 1 }: 2 }\n', '? '.repeat(400)])
    assert.throws(() => read(text), /a name must be a text/)
})

test('a client may have all registered members', () => {
  const client = {
    ...WEB,
    client_name: 'Web',
    token_endpoint_auth_method: 'client_secret_post',
    application_type: 'web',
    post_logout_redirect_uris: ['https://app.example.com/'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code', 'code id_token'],
    scope: 'openid profile offline_access Platform/Market',
    frontchannel_logout_uri: 'https://app.example.com/front',
    frontchannel_logout_session_required: true,
    backchannel_logout_uri: 'https://app.example.com/back',
    backchannel_logout_session_required: true,
    jwks: { keys: [{ kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'a' }] },
    default_max_age: 3600,
    require_auth_time: true,
    initiate_login_uri: 'https://app.example.com/start',
    contacts: ['ops@example.com'],
    client_uri: 'https://app.example.com/',
    logo_uri: 'https://app.example.com/logo.png',
    policy_uri: 'https://app.example.com/policy',
    tos_uri: 'https://app.example.com/terms',
    require_pkce: true,
    code_challenge_methods: ['S256'],
    require_second_factor: false,
    skip_consent: false,
    allowed_origins: ['https://app.example.com'],
    access_token_lifetime: 600,
    disabled: false,
  }
  assert.deepEqual(findFaults({ clients: [client], prune: false }), [])
})

test('a syntax error is reported with its line, and without quoting the file', () => {
  for (const text of ['{"users": [', 'a: [1\nb: 2', '{"password": "wonderland-1", "password": "x"}']) {
    assert.throws(
      () => read(text),
      (error: Error) => /line \d/.test(error.message) && !error.message.includes('wonderland-1'),
      text,
    )
  }
})

test('the error for a file that does not exist names the setting', () => {
  assert.throws(() => readDeclaration(join(folder, 'nowhere.yaml')), /ENOENT.*GATEHOUSE_CONFIG/)
})

describe('faults are reported with their path', () => {
  const cases: readonly (readonly [object, ...string[]])[] = [
    [{ usres: [] }, 'usres: unknown member; did you mean users?'],
    [{ users: {} }, 'users: must be a list, not an object'],
    [{ users: [{ username: 'a' }, {}] }, 'users[1].username: is missing'],
    [
      { users: [{ username: 'a', pasword: 'wonderland-1' }] },
      'users[0].pasword: unknown member; did you mean password?',
    ],
    [
      { users: [{ username: 'a', password: { evn: 'X' } }] },
      'users[0].password: must be text or {"env": …} or {"file": …}, not an object with evn',
    ],
    [
      { users: [{ username: 'a', password: 12 }] },
      'users[0].password: must be text or {"env": …} or {"file": …}, not a number',
    ],
    [
      { users: [{ username: 'a', password_hash: '$2b$10$x' }] },
      'users[0].password_hash: must be an Argon2 hash in PHC format, such as $argon2id$v=19$m=19456,t=2,p=1$…$…',
    ],
    [
      { users: [{ username: 'a', roles: ['existing', 'tradr'] }], roles: [{ name: 'trader' }] },
      'users[0].roles[1]: unknown role "tradr"; did you mean "trader"?',
    ],
    [
      { users: [{ username: 'Alice' }, { username: 'alice' }] },
      'users[1].username: "alice" is already the name of users[0]',
    ],
    [
      { roles: [{ name: 'r', scopes: ['Platform/Markt'] }] },
      'roles[0].scopes[0]: "Platform/Markt" is not one of openid, profile, email, roles, Identity/Admin, Platform/Market, Platform/News, Platform/Trading, Platform/OrderPad, Platform/Admin, offline_access; did you mean Platform/Market?',
    ],
    [
      { clients: [{ ...WEB, scope: 'openid Platform/Tradin' }] },
      'clients[0].scope: unknown scope "Platform/Tradin"; did you mean "Platform/Trading"?',
    ],
    [{ clients: [WEB, WEB] }, 'clients[1].client_id: "web" is already the name of clients[0]'],
    [{ users: [{ username: 'usr_1' }] }, 'users[0].username: must not begin with usr_, the prefix of user ids'],
    [
      { clients: [{ ...WEB, client_id: 'usr_1' }] },
      'clients[0].client_id: must not begin with usr_, the prefix of user ids',
    ],
    [
      { clients: [{ ...WEB, client_secret: undefined }] },
      'clients[0].client_secret: is missing; for a client without a secret set token_endpoint_auth_method to none or private_key_jwt',
    ],
    [
      { clients: [{ ...WEB, token_endpoint_auth_method: 'none' }] },
      'clients[0].client_secret: a client with token_endpoint_auth_method none has no secret',
    ],
    [
      { clients: [{ client_id: 'p', token_endpoint_auth_method: 'none', grant_types: ['client_credentials'] }] },
      'clients[0].grant_types[0]: client_credentials requires a client secret',
    ],
    [
      { clients: [{ ...WEB, redirect_uris: [] }] },
      'clients[0].redirect_uris: needs at least one URI for the grant_types authorization_code',
    ],
    [
      { clients: [{ ...WEB, response_types: ['code', 'id_token'] }] },
      'clients[0].response_types[1]: "id_token" requires implicit in grant_types',
    ],
    [
      { clients: [{ ...WEB, jwks: { keys: [{ kty: 'RSA', d: 'x' }] } }] },
      'clients[0].jwks.keys[0]: contains a private key; give only the public key',
    ],
    [{ clients: [{ ...WEB, access_token_lifetime: 0 }] }, 'clients[0].access_token_lifetime: must be at least 1'],
    [{ tables: [{ name: 'T', columns: [] }] }, 'tables[0].columns: needs at least one'],
    [
      {
        tables: [
          {
            name: 'T',
            columns: [
              { name: 'a', type: 'Decimal(39,2)' },
              { name: 'A', type: 'Text' },
            ],
          },
        ],
      },
      'tables[0].columns[1].name: "A" is already the name of columns[0]',
      'tables[0].columns[0].type: a Decimal column has 1 to 38 digits, not 39',
    ],
    [
      { tables: [{ name: 'T', columns: [{ name: 'a', type: 'Decimal(4,5)' }] }] },
      'tables[0].columns[0].type: the scale 5 exceeds the precision 4',
    ],
    [
      { tables: [{ name: 'T', columns: [{ name: 'a', type: 'Text', primary_key: true, nullable: true }] }] },
      'tables[0].columns[0].nullable: a column of the primary key cannot be nullable',
    ],
    [
      { tables: [{ name: 'T', columns: [{ name: 'a', type: 'Text' }], read_scope: 'Market' }] },
      'tables[0].read_scope: unknown scope "Market"',
    ],
  ]
  for (const [declaration, ...expected] of cases) {
    test(expected.join(' and '), () => assert.deepEqual(findFaults(declaration), expected))
  }
})

describe('C-21: redirect URIs', () => {
  const good = [
    'https://app.example.com/callback',
    'https://app.example.com:8443/callback?kind=a',
    'http://localhost:5090/callback',
    'http://127.0.0.1/callback',
    'http://[::1]/callback',
    'com.example.app:/callback',
    'com.example.app://callback',
  ]
  for (const address of good) {
    test(`${address} is accepted`, () =>
      assert.deepEqual(findFaults({ clients: [{ ...WEB, redirect_uris: [address] }] }), []))
  }
  const bad: Readonly<Record<string, RegExp>> = {
    'http://app.example.com/callback': /http is allowed on loopback/,
    'http://127.0.0.1.evil.example/callback': /http is allowed on loopback/,
    'http://localhost.evil.example/': /http is allowed on loopback/,
    'javascript:alert(1)': /scheme javascript:/,
    'data:text/html,x': /scheme data:/,
    'myapp://callback': /scheme myapp:/,
    'https://*.example.com/callback': /wildcards/,
    "https://a;script-src'unsafe-inline'.example/": /the host .* may contain only letters, digits, dots and hyphens/,
    'https://a,b.example/': /the host a,b.example may contain only/,
    "https://'self'.example/": /the host 'self'.example may contain only/,
    'http://localhost;x/': /the host localhost;x may contain only/,
    'https://app.example.com/callback#top': /fragment/,
    'https://app.example.com/callback#': /fragment/,
    'https://user@app.example.com/': /a user or password/,
    'https://app.example.com/a/../b': /segments/,
    'https://app.example.com/a/%2e%2e/b': /segments/,
    'https://app.example.com\\@evil.example/': /backslash/,
    'https://app.example.com/call back': /spaces/,
    '/callback': /not an absolute URI/,
  }
  for (const [address, reason] of Object.entries(bad)) {
    test(`${address} is refused`, () => {
      const faults = findFaults({
        clients: [WEB, { ...WEB, client_id: 'b', redirect_uris: [WEB.redirect_uris[0], address] }],
      })
      assert.equal(faults.length, 1)
      assert.ok(faults[0]?.startsWith('clients[1].redirect_uris[1]: '), faults[0])
      assert.match(faults[0] ?? '', reason)
    })
  }
})

test('other URIs of a client need https, or http on loopback', () => {
  const faults = findFaults({
    clients: [
      {
        ...WEB,
        initiate_login_uri: 'http://localhost/start',
        frontchannel_logout_uri: 'http://app.example.com/out',
        backchannel_logout_uri: 'com.example.app:/out',
        post_logout_redirect_uris: ['https://app.example.com/', 'ftp://x'],
        allowed_origins: ['https://app.example.com', 'https://app.example.com/', '*'],
      },
    ],
  })
  assert.deepEqual(
    faults.map((fault) => fault.split(':', 1)[0]),
    [
      'clients[0].post_logout_redirect_uris[1]',
      'clients[0].frontchannel_logout_uri',
      'clients[0].backchannel_logout_uri',
      'clients[0].initiate_login_uri',
      'clients[0].allowed_origins[1]',
      'clients[0].allowed_origins[2]',
    ],
  )
})

test('all faults are reported, not only the first', () => {
  const faults = findFaults({ foo: 1, users: [{}], clients: [{ client_id: '' }] })
  assert.ok(faults.length >= 3, faults.join('\n'))
})

test('secrets are read from the environment or a file, and a missing one is reported', () => {
  writeFileSync(join(folder, 'secret.txt'), 'from a file\n')
  const { declaration } = read(
    'users:\n  - {username: a, password: {env: A_PASSWORD}}\n  - {username: b, password: {file: secret.txt}}\n  - {username: c, password: {env: NOT_SET}}\nclients:\n  - {client_id: x, client_secret: {file: none.txt}}\n',
  )
  const { resolved, faults } = resolveSecrets(declaration, { environment: { A_PASSWORD: 'from env' }, folder })
  assert.deepEqual(
    resolved.users?.map(({ password }) => password),
    ['from env', 'from a file', ''],
  )
  assert.deepEqual(faults, [
    { path: 'users[2].password', text: 'the environment variable NOT_SET is not set' },
    { path: 'clients[0].client_secret', text: 'the file none.txt cannot be read (ENOENT)' },
  ])
})

test('RFC 6749 appendix A.2: a client secret is printable ASCII, from whichever source', () => {
  writeFileSync(join(folder, 'long.txt'), 'two\nlines\n')
  const clients = [' !"~', 'x'].map((client_secret) => ({ client_id: 'plain', client_secret }))
  const secrets = ['pässword', '\t', { env: 'A_SECRET' }, { file: 'long.txt' }]
  const declaration = {
    clients: [...clients, ...secrets.map((client_secret) => ({ client_id: 'web', client_secret }))],
  }
  const { faults } = resolveSecrets(declaration, { environment: { A_SECRET: '\u{1f511}' }, folder })
  assert.deepEqual(
    faults.map(({ path }) => path),
    secrets.map((_, index) => `clients[${index + 2}].client_secret`),
  )
  assert.match(faults[0]?.text ?? '', /^the secret of web may contain only printable ASCII characters/)
  assert.ok(faults.every(({ text }) => !text.includes('pässword')))
})

test('settings of the file become the strings that flags would have', () => {
  const file = read(
    'settings:\n  port: 6000\n  demo: true\n  services: [identity, query]\n  database_url: {env: DB}\n  log_level: warn\n',
  )
  assert.deepEqual(readSettings(file, { DB: 'postgres://x@y/z' }), {
    port: '6000',
    demo: 'true',
    services: 'identity,query',
    database_url: 'postgres://x@y/z',
    log_level: 'warn',
  })
  assert.throws(() => readSettings(read('settings: {config: other.yaml}'), {}), /settings\.config/)
})

test('JSON Schema Core §6.4: the published patterns are portable', () => {
  const patterns = [...JSON.stringify(declarationJsonSchema()).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)]
  const texts = patterns.map(([, text = '']): string => JSON.parse(text))
  assert.ok(texts.length > 5)
  for (const text of texts) assert.doesNotMatch(text, /\\[pPu]|\(\?[^:]/, text)
  const name = new RegExp(texts.find((text) => text.includes('\\x9f')) ?? '')
  for (const good of ['trader', 'Büro 7', 'a']) assert.match(good, name)
  for (const bad of [' a', 'a ', 'a\u0007b', '\u0085', '']) assert.doesNotMatch(bad, name)
})
