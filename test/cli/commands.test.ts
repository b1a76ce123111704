/** The commands that set up an installation: help, config, apply, user add and schema. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { COMMANDS } from '../../packages/server/src/cli/commands.ts'
import { runInProcess } from '../support/in-process.ts'

const base = mkdtempSync(join(tmpdir(), 'gatehouse-cli-'))
after(() => rmSync(base, { recursive: true, force: true }))
const data = ['--data', join(base, 'data')]
before(() => runInProcess(['migrate', '--create', ...data]))

test('help lists every command, and each has its own help', async () => {
  const overview = await runInProcess(['--help'])
  assert.equal(overview.status, 0)
  for (const { name, summary } of COMMANDS)
    assert.ok(overview.stdout.includes(name) && overview.stdout.includes(summary))
  const user = await runInProcess(['user', '--help'])
  assert.match(user.stdout, /user add/)
  const add = await runInProcess(['user', 'add', '--help'])
  assert.match(add.stdout, /^Usage: gatehouse user add USERNAME/)
  assert.equal((await runInProcess(['help', 'user', 'add'])).stdout, add.stdout)
})

test('an unknown command exits with 2 and suggests the nearest', async () => {
  for (const [args, near] of [
    [['sreve'], 'serve'],
    [['user', 'ad'], 'user add'],
  ] as const) {
    const { status, stderr } = await runInProcess(args)
    assert.equal(status, 2)
    assert.ok(stderr.includes(`did you mean "${near}"?`), stderr)
  }
})

test('config shows each setting and its source, with secrets masked', async () => {
  const file = join(base, 'settings.yaml')
  writeFileSync(file, 'settings:\n  log_level: warn\n  database_url: {env: DB}\n  port: 7000\n')
  const environment = { GATEHOUSE_CONFIG: file, GATEHOUSE_PORT: '7001', DB: 'postgres://u:hidden@h/d' }
  const table = await runInProcess(['config', '--host', '::1'], { environment })
  assert.equal(table.status, 0, table.stderr)
  assert.ok(!table.stdout.includes('hidden'))
  const rows = table.stdout.split('\n').map((line) => line.split(/ {2,}/))
  const buildRow = (name: string) => rows.find(([first]) => first === name)?.slice(1)
  assert.deepEqual(buildRow('port'), ['7001', 'GATEHOUSE_PORT'])
  assert.deepEqual(buildRow('host'), ['::1', '--host'])
  assert.deepEqual(buildRow('log_level'), ['warn', `file ${file}`])
  assert.deepEqual(buildRow('database_url'), ['********', `file ${file}`])
  assert.deepEqual(buildRow('log_format'), ['json', 'default'])
  assert.deepEqual(buildRow('issuer'), ['http://[::1]:7001', 'default'])
  const json = await runInProcess(['config', '--json'], { environment })
  assert.partialDeepStrictEqual(JSON.parse(json.stdout), {
    port: { value: '7001', source: 'environment' },
    database_url: { value: '********', source: 'file' },
  })
})

test('an unknown setting in the file is named with its path and the nearest name', async () => {
  const file = join(base, 'misspelled.yaml')
  writeFileSync(file, 'settings: {log_levle: warn}\n')
  const { status, stderr } = await runInProcess(['config', '--config', file])
  assert.equal(status, 2)
  assert.match(stderr, /settings\.log_levle; did you mean settings\.log_level\?/)
})

test('a setting that is wrong exits with 2, wherever it comes from; what cannot be done exits with 1', async () => {
  const statuses = [
    await runInProcess(['config', '--port', 'abc']),
    await runInProcess(['config'], { environment: { GATEHOUSE_PORT: 'abc' } }),
    await runInProcess(['config'], { environment: { GATEHOUSE_PROT: '1' } }),
    await runInProcess(['serve', '--port', 'abc', ...data]),
    await runInProcess(['restore', join(base, 'nosuch'), '--data', join(base, 'empty')]),
  ]
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [2, 2, 2, 2, 1],
  )
  assert.match(statuses.at(-1)?.stderr ?? '', /There is no folder \S+nosuch: name the folder that "gatehouse backup"/)
})

test('apply shows the changes with --dry-run, makes them, and finds none afterwards', async () => {
  const file = join(base, 'gatehouse.yaml')
  writeFileSync(
    file,
    'roles:\n  - {name: trader, scopes: [Platform/Market]}\nusers:\n  - {username: alice, password: wonderland-1, roles: [trader]}\n',
  )
  const args = ['apply', '--config', file, ...data]
  const dry = await runInProcess([...args, '--dry-run'])
  assert.equal(dry.stdout, '+ role trader\n+ user alice\n2 to be created, 0 to be changed, 0 to be removed.\n')
  assert.equal((await runInProcess(args)).stdout, '+ role trader\n+ user alice\n2 created, 0 changed, 0 removed.\n')
  assert.equal((await runInProcess(args)).stdout, 'Nothing to change.\n')
  writeFileSync(file, 'roles:\n  - {name: trader, scopes: [Platform/News]}\n')
  const json = await runInProcess([...args, '--json', '--dry-run'])
  assert.deepEqual(JSON.parse(json.stdout), {
    applied: false,
    changes: [
      {
        action: 'update',
        what: 'role',
        name: 'trader',
        differences: ['scopes: ["Platform/Market"] → ["Platform/News"]'],
      },
    ],
  })
  const none = await runInProcess(['apply', ...data])
  assert.equal(none.status, 2)
  assert.match(none.stderr, /--config/)
})

test('user add reads the password from stdin and refuses invalid input', async () => {
  const added = await runInProcess(['user', 'add', 'bob', '--role', 'trader', '--name', 'Bob', ...data], {
    stdin: 'long enough\n',
  })
  assert.match(added.stdout, /^User bob was added as usr_\S+\.\n$/)
  assert.equal(added.status, 0)
  const cases: readonly (readonly [readonly string[], string, number, RegExp])[] = [
    [['BOB'], 'long enough\n', 1, /is taken/],
    [['carol'], 'short\n', 1, /8 to 1024/],
    [['carol', '--role', 'tradr'], 'long enough\n', 1, /did you mean "trader"/],
    [[], '', 2, /USERNAME/],
    [['carol', 'her-password'], '', 2, /takes USERNAME; 2 arguments were given/],
  ]
  for (const [args, stdin, expected, message] of cases) {
    const { status, stderr, stdout } = await runInProcess(['user', 'add', ...args, ...data], { stdin })
    assert.match(stderr, message)
    assert.equal(status, expected, args.join(' '))
    assert.equal(stdout, '')
  }
})

test('lists and what show prints are plain words, without JSON', async () => {
  const data = ['--data', join(base, 'words')]
  await runInProcess(['migrate', '--create', ...data])
  await runInProcess(['api', 'add', 'https://orders.example.com', '--scope', 'orders:read=Read orders', ...data])
  await runInProcess(['client', 'add', 'robot', '--grant', 'client_credentials', ...data])
  const print = async (...words: string[]) => (await runInProcess([...words, ...data])).stdout
  assert.match(await print('api', 'list'), /^https:\/\/orders\.example\.com .* orders:read +/m)
  assert.match(await print('api', 'show', 'https://orders.example.com'), /^scopes +name orders:read, /m)
  assert.match(await print('role', 'list'), /PROVISIONED/)
  for (const words of [
    ['api', 'list'],
    ['api', 'show', 'https://orders.example.com'],
    ['client', 'show', 'robot'],
  ])
    assert.doesNotMatch(await print(...words), /[{}"]/)
  const { status, stderr } = await runInProcess(['scim', 'token', 'robot', '--days', '9999', ...data])
  assert.equal(status, 2)
  assert.match(stderr, /--days takes a whole number from 1 to 730/)
})

test('schema prints the JSON Schema of the declarative file', async () => {
  const { status, stdout } = await runInProcess(['schema'])
  assert.equal(status, 0)
  assert.partialDeepStrictEqual(JSON.parse(stdout), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    additionalProperties: false,
  })
})
