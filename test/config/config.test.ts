/** The table of settings: sources, parsing, and error messages. */
import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { environmentName, fileName, flagName, SETTINGS, settingNames } from '../../packages/server/src/config/config.ts'
import { chooseIssuer } from '../../packages/server/src/config/issuer.ts'
import { isOfPlatform, loadConfig } from '../../packages/server/src/config/load.ts'
import { BadSetting, listChoices } from '../../packages/server/src/config/parsers.ts'
import {
  formatAddress,
  namedServers,
  withoutCredentials,
} from '../../packages/server/src/store/database/servers/addresses.ts'

function readConfig(flags: Record<string, string>) {
  return loadConfig({ flags }).config
}

test('a setting has one name in three spellings', () => {
  assert.equal(environmentName('databaseUrl'), 'GATEHOUSE_DATABASE_URL')
  assert.equal(flagName('databaseUrl'), '--database-url')
  assert.equal(fileName('databaseUrl'), 'database_url')
  for (const spell of [environmentName, flagName, fileName]) {
    assert.equal(new Set(settingNames().map(spell)).size, settingNames().length)
  }
})

test('every setting can parse its default, and its help is plain text that ends in a full stop', () => {
  for (const name of settingNames()) {
    assert.doesNotThrow(() => SETTINGS[name].parse(SETTINGS[name].default), name)
    assert.match(SETTINGS[name].help, /^[A-Z].*\.$/, name)
    assert.doesNotMatch(SETTINGS[name].help, /\]\(/, `${name}: the console and the command line show it as it is`)
  }
})

test('the documented defaults', () => {
  const { config, sources } = loadConfig({})
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.port, 5080)
  assert.equal(config.data, resolve('./data'))
  assert.equal(config.databaseUrl, '')
  assert.deepEqual(config.services, ['identity', 'streaming', 'query'])
  assert.ok(Object.values(sources).every((source) => source === 'default'))
  assert.ok(Object.isFrozen(config))
})

test('precedence: flags, the environment, the settings file, the declarative file', () => {
  const given = {
    file: { port: '1001', log_level: 'warn', host: 'localhost', workers: '2' },
    settingsFile: {
      path: '/etc/gatehouse.env',
      variables: new Map(
        Object.entries({ GATEHOUSE_PORT: '1004', GATEHOUSE_LOG_LEVEL: 'error', GATEHOUSE_WORKERS: '3', OTHER: 'x' }),
      ),
    },
    environment: { GATEHOUSE_PORT: '1002', GATEHOUSE_LOG_LEVEL: 'debug', PATH: '/bin' },
    flags: { '--port': '1003' },
  }
  const { config, sources, texts } = loadConfig(given)
  assert.deepEqual([config.port, config.logLevel, config.workers, config.host], [1003, 'debug', 3, 'localhost'])
  assert.deepEqual(
    [sources.port, sources.logLevel, sources.workers, sources.host, sources.data],
    ['flag', 'environment', 'settings_file', 'file', 'default'],
  )
  assert.equal(texts.port, '1003')
})

/** Each would be misread without an error. */
const UNUSABLE_HOSTS: readonly (readonly [url: string, message: RegExp])[] = [
  ['postgres://u:p@a:99999,b/d', /the port "99999" is not a number from 1 to 65535/],
  ['postgres://u:p@a:0,b/d', /the port "0" is not/],
  ['postgres://u:p@a:0/d', /the port "0" is not/],
  ['postgres://u:p@/d?host=a,b&port=abc', /the port "abc" is not/],
  ['postgres://u:p@/d?host=a,b&port=1,-5', /the port "-5" is not/],
  ['postgres://u:p@a:1/d?port=2', /it has a port after its host and the parameter port/],
  ['postgres://u:p@a:1,b:2/d?port=3', /it has several hosts and the parameter port/],
  ['postgres://u:p@/d?host=a&host=b', /the parameter "host" is given twice/],
  [
    'postgres://u:p@a/d?target_session_attrs=any&target_session_attrs=primary',
    /the parameter "target_session_attrs" is/,
  ],
  ['postgres://u:p@%zz,b/d', /a host has a % that is not followed by two hexadecimal digits/],
  ['postgres://u:p@a:1,A:1/d', /the server a:1 is named twice/],
]

describe('errors use the name as it was written', () => {
  const cases: readonly (readonly [Parameters<typeof loadConfig>[0], RegExp])[] = [
    [{ flags: { '--prot': '1' } }, /^Unknown setting --prot; did you mean --port\?$/],
    [{ environment: { GATEHOUSE_PROT: '1' } }, /^Unknown setting GATEHOUSE_PROT; did you mean GATEHOUSE_PORT\?$/],
    [
      { settingsFile: { path: 'a.env', variables: new Map(Object.entries({ GATEHOUSE_PROT: '1' })) } },
      /^Unknown setting GATEHOUSE_PROT in a\.env; did you mean GATEHOUSE_PORT in a\.env\?$/,
    ],
    [
      { settingsFile: { path: 'a.env', variables: new Map(Object.entries({ GATEHOUSE_PORT: 'x' })) } },
      /^GATEHOUSE_PORT in a\.env: "x" is not a whole number$/,
    ],
    [{ file: { prot: '1' } }, /^Unknown setting settings\.prot; did you mean settings\.port\?$/],
    [{ flags: { '--entirely-unknown-thing': '1' } }, /^Unknown setting --entirely-unknown-thing$/],
    [{ flags: { '--port': '70000' } }, /^--port: 70000 is not a port/],
    [{ environment: { GATEHOUSE_PORT: '-1' } }, /^GATEHOUSE_PORT: "-1" is not a whole number/],
    [{ file: { port: '1.5' } }, /^settings\.port: "1\.5" is not a whole number/],
    [{ flags: { '--data': '' } }, /^--data: a folder is required/],
    [{ flags: { '--log-level': 'wran' } }, /^--log-level: "wran" is not one of .*did you mean warn\?/],
    [
      { flags: { '--services': 'identity,querry' } },
      /^--services: "querry" is not one of identity, streaming, query; did you mean query\?/,
    ],
    [{ flags: { '--services': ',' } }, /^--services: name at least one/],
    [{ flags: { '--stream-origins': 'https://a.test,desk.test' } }, /^--stream-origins: "desk.test" is not an origin/],
    [{ flags: { '--stream-origins': '*' } }, /^--stream-origins: "\*" is not an origin/],
    [{ flags: { '--stream-origins': 'https://Desk.test:443/' } }, /^--stream-origins: .*: write https:\/\/desk\.test$/],
    [{ flags: { '--demo': 'maybe' } }, /^--demo: "maybe" is neither true nor false/],
    [{ flags: { '--trusted-proxies': '10.0.0.0/8,proxy' } }, /^--trusted-proxies: "proxy" is neither an address/],
    [{ flags: { '--trusted-proxies': '10.0.0.0/33' } }, /^--trusted-proxies: "10.0.0.0\/33" is neither an address/],
    [{ flags: { '--limit-exempt': '2001:db8::/129' } }, /^--limit-exempt: "2001:db8::\/129" is neither an address/],
    [
      { flags: { '--trace-endpoint': 'http://u:hidden@h/' } },
      /^--trace-endpoint: the URL must not contain a user or passw/,
    ],
    [{ flags: { '--database-url': 'mysql://x' } }, /^--database-url: it must look like postgres:/],
    [
      { flags: { '--database-url': 'postgres://u:p@h/d?sslmod=require' } },
      /^--database-url: the parameter "sslmod" is not one of host, .*; did you mean sslmode\?$/,
    ],
    [
      { flags: { '--database-url': 'postgres://u:p@h/d?sslmode=verify-fall' } },
      /^--database-url: the sslmode "verify-fall" is not one of disable, .*; did you mean verify-full\?$/,
    ],
    [{ flags: { '--database-url': 'postgres://u:p@h/d?sslmode=allow' } }, /the sslmode "allow" is not one of/],
    [{ flags: { '--database-url': 'postgres://u:p@h/d?options=-c%20x=y' } }, /the parameter "options" is not one of/],
    [
      { flags: { '--database-url': 'postgres://u:p@a,b/d?target_session_attrs=standby' } },
      /the target_session_attrs "standby" is not one of read-write, primary, any$/,
    ],
    [{ flags: { '--database-url': 'postgres://u:p@a,b:x/d' } }, /several hosts must look like host:5432,other:5432/],
    [{ flags: { '--database-url': 'postgres://u:p@/d?host=a,b,c&port=1,2' } }, /it has 3 hosts and 2 ports/],
    [{ flags: { '--database-url': 'postgres://u:p@a,b/d?host=c' } }, /name them in one place/],
    ...UNUSABLE_HOSTS.map(
      ([url, message]) =>
        [{ flags: { '--database-url': url } }, new RegExp(`^--database-url: ${message.source}`)] as const,
    ),
    [{ flags: { '--issuer': 'http://id.example.com' } }, /must use https/],
    [{ flags: { '--issuer': 'https://id.example.com/?a=b' } }, /^--issuer: an issuer must not have a query/],
    [{ flags: { '--issuer': 'id.example.com' } }, /^--issuer: /],
    [{ flags: { '--master-key': 'c2hvcnQ=' } }, /^--master-key: it must be 32 bytes/],
    [{ flags: { '--tls-key': 'key.pem' } }, /GATEHOUSE_TLS_CERTIFICATE and GATEHOUSE_TLS_KEY must be set together/],
    [{ flags: { '--demo': 'true', '--host': '0.0.0.0' } }, /loopback only/],
  ]
  for (const [given, message] of cases) {
    test(String(message), () => {
      assert.throws(
        () => loadConfig(given),
        (error: Error) => error instanceof BadSetting && message.test(error.message),
      )
    })
  }

  test('an error does not quote a secret', () => {
    for (const [flag, value] of [
      ['--database-url', 'hidden-value'],
      ['--master-key', 'hidden-value'],
      ['--issuer', 'htps://user:hidden-value@id.example.com'],
      ['--issuer', 'https://:hidden-value@id.example.com'],
      ['--trace-endpoint', 'htps://user:hidden-value@id.example.com'],
      ['--server', 'user:hidden-value@id.example.com'],
      ['--stream-origins', 'https://user:hidden-value@id.example.com'],
      ['--stream-origins', 'app://user:hidden-value@id.example.com'],
      ['--support-contact', 'ftp://user:hidden-value@id.example.com'],
    ] as const) {
      assert.throws(
        () => readConfig({ [flag]: value }),
        (error: Error) => error instanceof BadSetting && !error.message.includes('hidden-value'),
        value,
      )
    }
  })

  test('a database URL with a password that is not percent-encoded is refused, and no part of it is shown', () => {
    // The first part is a port, so that what follows the odd character looks like the rest of a valid URL.
    for (const password of [
      '12/hidden',
      '12#hidden',
      '12?hidden',
      '12?hidden=1',
      '12?sslmode=hidden',
      '12/h?hidden',
      'a@12/hidden',
    ])
      assertHidden(`postgres://gate:${password}@db.example/gatehouse`, password)
    for (const password of ['50%hidden', 'a hidden', '%E0%hidden', 'hid\nden', 'a:b/hidden', '[hidden/', 'hidden%'])
      assertHidden(`postgres://gate:${password}@db.example/gatehouse`, password)
    for (const password of ['a@b', 'a:b', 'a%2Fb', 'a%20b', "a'b", 'a$b', 'a\\b', 'a!b*(c)'])
      assert.ok(
        readConfig({ '--database-url': `postgres://gate:${password}@db.example/gatehouse` }).databaseUrl,
        password,
      )
  })

  test('addresses of NATS: several servers, and no password in an error', () => {
    const parsed = (url: string) => readConfig({ '--nats-url': url }).natsUrl
    assert.equal(parsed('nats://u:p%40@a:4222, tls://b'), 'nats://u:p%40@a:4222,tls://b')
    for (const url of [
      'http://u:hidden@a',
      'nats://u:hid%den@a',
      'nats://a/hidden',
      'nats://a,nats://u:hidden@b',
      'hidden',
    ])
      assert.throws(
        () => parsed(url),
        (error: Error) => error instanceof BadSetting && !error.message.includes('hid'),
        url,
      )
  })

  test('a database URL without its @, as a shell leaves it of one that is not quoted, does not show what may be the password', () => {
    for (const url of ['postgres://u:12?hidden', 'postgres://u:12/hidden%40host/db', 'postgres://u:12/a/hidden'])
      assert.throws(
        () => readConfig({ '--database-url': url }),
        (error: Error) => error instanceof BadSetting && !error.message.includes('hidden'),
        url,
      )
  })

  function assertHidden(url: string, password: string): void {
    assert.throws(
      () => readConfig({ '--database-url': url }),
      (error: Error) =>
        error instanceof BadSetting && /percent-encoded/.test(error.message) && !/hid/.test(error.message),
      password,
    )
  }
})

test('sslmode: every mode that verifies is the strictest one, without a warning of the driver', async () => {
  const parsed = (url: string) => readConfig({ '--database-url': url }).databaseUrl
  for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full'])
    assert.equal(
      parsed(`postgres://u:p%2F@h:1/d?sslmode=${mode}&sslrootcert=/etc/ca.pem`),
      'postgres://u:p%2F@h:1/d?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem',
    )
  for (const url of ['postgres://u@h/d', 'postgres:///d?host=%2Frun%2Fpostgresql', 'postgresql://u:p@[::1]:5432/d'])
    assert.equal(parsed(url), url)
  assert.equal(parsed('postgres://u:p@h/d?sslmode=disable'), 'postgres://u:p@h/d?sslmode=disable')
})

test('a database URL with several hosts, as libpq reads it', () => {
  const named = (url: string) => {
    const { addresses, target, isFailover, connectionString } = namedServers(
      readConfig({ '--database-url': url }).databaseUrl,
    )
    return [addresses.map(formatAddress).join(' '), target, isFailover, connectionString]
  }
  const several = [
    ['postgres://u:p%2F@a:1,b/d', 'a:1 b:5432'],
    ['postgres://u:p%2F@a:1,[::1]:2/d', 'a:1 [::1]:2'],
    ['postgres://u:p%2F@%2Ftmp%2Fpg:1,b/d', '/tmp/pg:1 b:5432'],
    ['postgres://u:p%2F@a:1/d?host=b,c', 'b:1 c:1'],
    ['postgres://u:p%2F@/d?host=b,c', 'b:5432 c:5432'],
    ['postgres://u:p%2F@a:1/d?host=b,c&port=7', 'b:7 c:7'],
    ['postgres://u:p%2F@a:1/d?host=b,c&port=7,8', 'b:7 c:8'],
  ] as const
  for (const [url, addresses] of several) assert.deepEqual(named(url).slice(0, 3), [addresses, 'read-write', true], url)
  assert.deepEqual(named('postgres://u:a@b,c@a:1,b:2/d?sslmode=disable&target_session_attrs=primary'), [
    'a:1 b:2',
    'primary',
    true,
    'postgres://u:a%40b,c@a:1/d?sslmode=disable',
  ])
  assert.deepEqual(named('postgres://u:p@h/d'), ['h:5432', 'any', false, 'postgres://u:p@h/d'])
  assert.deepEqual(named('postgres://u:p@h/d?target_session_attrs=read-write'), [
    'h:5432',
    'read-write',
    true,
    'postgres://u:p@h/d',
  ])
  assert.equal(
    withoutCredentials(readConfig({ '--database-url': 'postgres://u:p@a:1,b/d' }).databaseUrl),
    'postgres://a:1,b:5432/d',
  )
})

test('the issuer is as set, or derived from scheme, host and port', () => {
  const cases: readonly (readonly [Record<string, string>, number, string])[] = [
    [{}, 5080, 'http://localhost:5080'],
    [{ '--host': '0.0.0.0' }, 81, 'http://localhost:81'],
    [{ '--host': '::1' }, 5080, 'http://[::1]:5080'],
    [{ '--host': '10.1.2.3' }, 5080, 'http://10.1.2.3:5080'],
    [{ '--tls-certificate': 'a', '--tls-key': 'b' }, 443, 'https://localhost:443'],
    [{ '--issuer': 'https://id.example.com/' }, 5080, 'https://id.example.com'],
    [{ '--issuer': 'https://id.example.com/tenant' }, 5080, 'https://id.example.com/tenant'],
  ]
  for (const [flags, port, expected] of cases) assert.equal(chooseIssuer(readConfig(flags), port), expected)
})

test('every choice is known to the docs: a value that is refused with a list has that list', () => {
  let lists = 0
  for (const name of settingNames()) {
    const refusal = (): string => {
      try {
        SETTINGS[name].parse('no such value')
        return ''
      } catch (error) {
        return String(error)
      }
    }
    const [, listed] = /is not one of ([\w, ]+)/.exec(refusal()) ?? []
    if (listed === undefined) continue
    lists++
    assert.deepEqual(listChoices(SETTINGS[name].parse), listed.split(', '), name)
  }
  assert.ok(lists >= 3)
})

/** https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables */
function variablesOfService(name: string, ports: readonly { name?: string; port: number; protocol: string }[]) {
  const prefix = name.toUpperCase().replaceAll('-', '_')
  const buildUrl = ({ protocol, port }: { protocol: string; port: number }) => `${protocol}://10.96.0.11:${port}`
  const [first] = ports
  assert.ok(first !== undefined)
  return {
    [`${prefix}_SERVICE_HOST`]: '10.96.0.11',
    [`${prefix}_SERVICE_PORT`]: String(first.port),
    [`${prefix}_PORT`]: buildUrl(first),
    ...Object.assign(
      {},
      ...ports.map((port) => {
        const link = `${prefix}_PORT_${port.port}_${port.protocol.toUpperCase()}`
        const named = port.name?.toUpperCase().replaceAll('-', '_')
        return {
          ...(named === undefined ? {} : { [`${prefix}_SERVICE_PORT_${named}`]: String(port.port) }),
          [link]: buildUrl(port),
          [`${link}_PROTO`]: port.protocol,
          [`${link}_PORT`]: String(port.port),
          [`${link}_ADDR`]: '10.96.0.11',
        }
      }),
    ),
  }
}

test('variables that Kubernetes makes for Services named gatehouse or gatehouse-… are ignored', () => {
  const environment = {
    ...variablesOfService('gatehouse', [
      { name: 'http', port: 5080, protocol: 'tcp' },
      { name: 'grpc-web', port: 80, protocol: 'sctp' },
    ]),
    ...variablesOfService('gatehouse-metrics', [{ port: 9464, protocol: 'tcp' }]),
    ...variablesOfService('gatehouse-data-2', [{ name: 'dns', port: 53, protocol: 'udp' }]),
  }
  assert.ok(Object.keys(environment).length > 20)
  const { config, sources } = loadConfig({ environment })
  assert.deepEqual([config.port, config.metricsPort], [5080, undefined])
  assert.ok(Object.values(sources).every((source) => source === 'default'))
  // What an operator sets is still taken, or refused.
  assert.equal(loadConfig({ environment: { ...environment, GATEHOUSE_PORT: '8080' } }).config.port, 8080)
  for (const name of ['GATEHOUSE_SERVICE', 'GATEHOUSE_SERVICE_HOSTS', 'GATEHOUSE_PORT_TCP', 'GATEHOUSE_HTTP_PORT'])
    assert.throws(() => loadConfig({ environment: { ...environment, [name]: '1' } }), /Unknown setting/, name)
  assert.throws(() => loadConfig({ environment: { GATEHOUSE_PORT: 'http://10.96.0.11' } }), /not a whole number/)
  for (const name of settingNames()) assert.equal(isOfPlatform(environmentName(name), '1'), false, name)
})
