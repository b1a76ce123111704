/** The plan: the changes from the current to the declared state. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CurrentState, impossibleChanges, plan } from '../../packages/server/src/declarative/plan.ts'
import type { Declaration } from '../../packages/server/src/declarative/shape.ts'
import type { SecretDigests } from '../../packages/server/src/resources/define-resource.ts'
import { storedItem } from '../../packages/server/src/resources/user-shape.ts'
import type { User } from '../../packages/server/src/store/accounts/user.ts'

const DIGESTS: SecretDigests = {
  passwordDigest: (username, value) => `digest of ${username} ${value}`,
  secretDigest: (clientId, secret) => `digest of ${clientId} ${secret}`,
}
const NOTHING: CurrentState = {
  roles: new Map(),
  apis: new Map(),
  attributes: new Map(),
  users: new Map(),
  clients: new Map(),
  tables: new Map(),
  views: new Map(),
  controllers: new Map(),
  feeds: new Map(),
  providers: new Map(),
  agents: new Map(),
  agreements: new Map(),
  products: new Map(),
  entitlements: new Map(),
  channels: new Map(),
  alerts: new Map(),
}

const ALICE: User = {
  id: 'usr_alice',
  username: 'alice',
  passwordHash: '$argon2id$',
  passwordChangedAt: 0,
  declaredDigest: 'digest of alice one',
  profile: { name: 'Alice' },
  roles: ['trader'],
  roleSources: new Map([['trader', ['operator']]]),
  attributes: {},
  breakGlass: false,
  rights: new Set(),
  requiresSecondFactor: false,
  hasSecondFactor: false,
  disabled: false,
  mustChangePassword: false,
  createdAt: 0,
  updatedAt: 0,
}
const EXISTING: CurrentState = {
  roles: new Map([
    ['trader', { name: 'trader', scopes: ['Platform/Market'], description: '', requireSecondFactor: false }],
  ]),
  apis: new Map(),
  attributes: new Map(),
  users: new Map([['alice', storedItem(ALICE)]]),
  clients: new Map([
    [
      'web',
      {
        client_id: 'web',
        redirect_uris: ['https://a.example/'],
        disabled: false,
        secrets: [{ id: 's', digest: 'digest of web secret', declared: true, createdAt: 0, expiresAt: undefined }],
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
        live: true,
      },
    ],
  ]),
  views: new Map(),
  controllers: new Map(),
  feeds: new Map(),
  providers: new Map(),
  agents: new Map(),
  agreements: new Map(),
  products: new Map(),
  entitlements: new Map(),
  channels: new Map(),
  alerts: new Map(),
}

const SAME: Declaration = {
  roles: [{ name: 'trader', scopes: ['Platform/Market'] }],
  users: [{ username: 'alice', password: 'one', roles: ['trader'], name: 'Alice' }],
  clients: [{ client_id: 'web', client_secret: 'secret', redirect_uris: ['https://a.example/'] }],
  tables: [{ name: 'trades', columns: [{ name: 'id', type: 'Integer', primary_key: true }] }],
}

/** Each change in one line: `update user alice: password: changed`. */
function outline(declaration: Declaration, state: CurrentState): string[] {
  return plan(declaration, state, DIGESTS).map(
    (change) =>
      `${change.action} ${change.what} ${change.name}${change.action === 'update' ? `: ${change.differences.join('; ')}` : ''}`,
  )
}

test('in an empty database everything is created, roles before users', () => {
  assert.deepEqual(outline(SAME, NOTHING), [
    'create role trader',
    'create user alice',
    'create client web',
    'create table trades',
  ])
})

test('what is as declared does not change', () => {
  assert.deepEqual(outline(SAME, EXISTING), [])
  assert.deepEqual(outline({ ...SAME, prune: true }, EXISTING), [])
})

test('the order of roles makes no difference', () => {
  const [alice, user] = [EXISTING.users.get('alice'), SAME.users?.[0]]
  assert.ok(alice && user)
  const users = new Map([['alice', { ...alice, roles: ['lead', 'trader'] }]])
  assert.deepEqual(outline({ users: [{ ...user, roles: ['trader', 'lead'] }] }, { ...EXISTING, users }), [])
})

test('who was disabled by an operator stays disabled, unless the file says otherwise', () => {
  const disabled: CurrentState = {
    ...EXISTING,
    users: new Map([...EXISTING.users].map(([key, user]) => [key, { ...user, disabled: true }])),
    clients: new Map([...EXISTING.clients].map(([key, client]) => [key, { ...client, disabled: true }])),
  }
  assert.deepEqual(outline(SAME, disabled), [])
  const enabled = {
    ...SAME,
    users: SAME.users?.map((user) => ({ ...user, disabled: false })) ?? [],
    clients: SAME.clients?.map((client) => ({ ...client, disabled: false })) ?? [],
  }
  assert.deepEqual(outline(enabled, disabled), [
    'update user alice: disabled: true → false',
    'update client web: disabled: true → false',
  ])
})

test('each difference is listed, without secrets', () => {
  const changed: Declaration = {
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

test('a password is set again only if the value in the file changes', () => {
  const users = (password?: string) =>
    plan(
      { users: [{ username: 'alice', roles: ['trader'], name: 'Alice', ...(password && { password }) }] },
      EXISTING,
      DIGESTS,
    )
  assert.deepEqual(users('one'), [])
  assert.deepEqual(users(undefined), [])
  const [change] = users('two')
  assert.ok(change?.action === 'update' && change.what === 'user')
  assert.deepEqual(change.secret, { value: 'two', digest: 'digest of alice two', isHash: false })
})

test('a user with a password from elsewhere keeps it when the file first declares one, unless reset_password is set', () => {
  const planned = (member: object, hasPassword = true) => {
    const stored = { ...ALICE, declaredDigest: undefined, ...(!hasPassword && { passwordHash: undefined }) }
    const users = new Map([['alice', storedItem(stored)]])
    const user = { username: 'alice', roles: ['trader'], name: 'Alice', password: 'one', ...member }
    const [change] = plan({ users: [user] }, { ...EXISTING, users }, DIGESTS)
    assert.ok(change?.action === 'update' && change.what === 'user')
    return { secret: change.secret, differences: change.differences }
  }
  const digest = 'digest of alice one'
  assert.deepEqual(planned({}), {
    secret: { value: undefined, digest, difference: 'kept, since the user already has one' },
    differences: ['password: kept, since the user already has one'],
  })
  const set = {
    secret: { value: 'one', digest, isHash: false },
    differences: ['password: changed'],
  }
  assert.deepEqual(planned({ reset_password: true }), set)
  assert.deepEqual(planned({}, false), set, 'a user without a password gets it')
})

test('prune removes what is not in the file, for the lists that are in the file', () => {
  assert.deepEqual(outline({ prune: true, users: [], clients: [] }, EXISTING), [
    'remove user alice',
    'remove client web',
  ])
  assert.deepEqual(outline({ prune: true }, EXISTING), [])
  assert.deepEqual(outline({ users: [], clients: [], roles: [], tables: [] }, EXISTING), [])
})

test('nullable columns may be added; any other change of columns is refused', () => {
  const faults = (columns: NonNullable<Declaration['tables']>[number]['columns']) =>
    impossibleChanges({ tables: [{ name: 'trades', columns }] }, EXISTING.tables).map(
      ({ path, text }) => `${path}: ${text}`,
    )
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
