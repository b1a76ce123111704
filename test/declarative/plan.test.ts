/** The plan: which changes a declaration asks for, given what exists. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCsv } from '../../src/declarative/csv.ts'
import { type CurrentState, type PlanRules, plan } from '../../src/declarative/plan.ts'
import type { ResolvedDeclaration } from '../../src/declarative/secrets.ts'

const RULES: PlanRules = {
  foldUsername: (username) => username.toLowerCase(),
  passwordDigest: (username, value) => `digest of ${username} ${value}`,
  secretDigest: (clientId, secret) => `digest of ${clientId} ${secret}`,
}
const NOTHING: CurrentState = { roles: new Map(), users: new Map(), clients: new Map(), tables: new Map() }

const EXISTING: CurrentState = {
  roles: new Map([
    ['trader', { name: 'trader', scopes: ['Platform/Market'], description: '', requireSecondFactor: false }],
  ]),
  users: new Map([
    [
      'alice',
      {
        target: { username: 'alice', profile: { name: 'Alice' }, roles: ['trader'], disabled: false },
        declaredDigest: 'digest of alice one',
      },
    ],
  ]),
  clients: new Map([
    [
      'web',
      {
        target: { client_id: 'web', redirect_uris: ['https://a.example/'], disabled: false },
        declaredSecrets: ['digest of web secret'],
      },
    ],
  ]),
  tables: new Map([
    [
      'trades',
      {
        name: 'trades',
        description: '',
        columns: [{ name: 'id', type: 'Integer', primaryKey: true, nullable: false, unique: false }],
        readScope: null,
        writeScope: null,
        rowFilter: null,
      },
    ],
  ]),
}

const SAME: ResolvedDeclaration = {
  roles: [{ name: 'trader', scopes: ['Platform/Market'] }],
  users: [{ username: 'alice', password: 'one', roles: ['trader'], name: 'Alice' }],
  clients: [{ client_id: 'web', client_secret: 'secret', redirect_uris: ['https://a.example/'] }],
  tables: [{ name: 'trades', columns: [{ name: 'id', type: 'Integer', primary_key: true }] }],
}

/** A change in a few words: `~ user alice: password: changed`. */
function outline(declaration: ResolvedDeclaration, state: CurrentState): string[] {
  return plan(declaration, state, RULES).changes.map(
    (change) =>
      `${change.action} ${change.what} ${change.name}${change.action === 'update' ? `: ${change.differences.join('; ')}` : ''}`,
  )
}

test('everything is new in an empty database, roles before users', () => {
  assert.deepEqual(outline(SAME, NOTHING), [
    'create role trader',
    'create user alice',
    'create client web',
    'create table trades',
  ])
})

test('what is as declared is left alone', () => {
  assert.deepEqual(outline(SAME, EXISTING), [])
  assert.deepEqual(outline({ ...SAME, prune: true }, EXISTING), [])
})

test('each difference is named, a secret never', () => {
  const changed: ResolvedDeclaration = {
    roles: [{ name: 'trader', scopes: ['Platform/Market', 'Platform/News'] }],
    users: [{ username: 'Alice', password: 'two', roles: [], name: 'Alice L.' }],
    clients: [{ client_id: 'web', client_secret: 'hidden', redirect_uris: ['https://b.example/'], disabled: true }],
    tables: [
      {
        name: 'Trades',
        description: 'All',
        columns: [
          { name: 'id', type: 'Integer', primary_key: true },
          { name: 'note', type: 'Text' },
        ],
      },
    ],
  }
  const lines = outline(changed, EXISTING)
  assert.deepEqual(lines.slice(0, 3), [
    'update role trader: scopes: ["Platform/Market"] → ["Platform/Market","Platform/News"]',
    'update user Alice: username: "alice" → "Alice"; profile: {"name":"Alice"} → {"name":"Alice L."}; roles: ["trader"] → []; password: changed',
    'update client web: redirect_uris: ["https://a.example/"] → ["https://b.example/"]; disabled: false → true; client_secret: changed',
  ])
  assert.match(lines[3] ?? '', /^update table Trades: description: "" → "All"; columns: /)
  assert.ok(!lines.join().includes('hidden') && !lines.join().includes('two'))
})

test('a password is set again only when the value in the file changes', () => {
  const users = (password?: string) =>
    plan(
      { users: [{ username: 'alice', roles: ['trader'], name: 'Alice', ...(password && { password }) }] },
      EXISTING,
      RULES,
    ).changes
  assert.deepEqual(users('one'), [])
  assert.deepEqual(users(undefined), [])
  const [change] = users('two')
  assert.ok(change?.action === 'update' && change.what === 'user')
  assert.deepEqual(change.password, { kind: 'password', value: 'two', digest: 'digest of alice two' })
})

test('prune removes what the file does not name, in the lists that the file has', () => {
  assert.deepEqual(outline({ prune: true, users: [], clients: [] }, EXISTING), [
    'remove user alice',
    'remove client web',
  ])
  assert.deepEqual(outline({ prune: true }, EXISTING), [])
  assert.deepEqual(outline({ users: [], clients: [], roles: [], tables: [] }, EXISTING), [])
})

test('columns may be added when they can be null; any other change of columns is refused', () => {
  const faults = (columns: NonNullable<ResolvedDeclaration['tables']>[number]['columns']) =>
    plan({ tables: [{ name: 'trades', columns }] }, EXISTING, RULES).faults.map(({ path, text }) => `${path}: ${text}`)
  const id = { name: 'id', type: 'Integer', primary_key: true }
  assert.deepEqual(faults([id, { name: 'note', type: 'Text' }]), [])
  assert.match(
    faults([id, { name: 'note', type: 'Text', nullable: false }])[0] ?? '',
    /^tables\[0\]\.columns\[1\]: .*must be nullable/,
  )
  assert.match(
    faults([{ ...id, type: 'Text' }])[0] ?? '',
    /^tables\[0\]\.columns\[0\]: type: "Integer" → "Text" cannot/,
  )
  assert.match(faults([{ name: 'other', type: 'Text' }])[0] ?? '', /^tables\[0\]\.columns: .*column id/)
})

test('RFC 4180: quotes, commas, line ends of both kinds, NULL and empty text', async () => {
  const text = '\uFEFFa,b,c\r\n1,"x, ""y""\r\nz",\r\n,"",last'
  const expected = [
    ['a', 'b', 'c'],
    ['1', 'x, "y"\r\nz', null],
    [null, '', 'last'],
  ]
  for (const size of [1, 2, 7, 1000]) {
    const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    assert.deepEqual(await Array.fromAsync(readCsv(chunks)), expected, `chunks of ${size}`)
  }
  await assert.rejects(Array.fromAsync(readCsv(['a\n"b'])), /line 2: a quoted field does not end/)
  await assert.rejects(Array.fromAsync(readCsv(['a"b'])), /line 1: a quote inside/)
  await assert.rejects(Array.fromAsync(readCsv(['"a"b'])), /line 1: text after/)
})
