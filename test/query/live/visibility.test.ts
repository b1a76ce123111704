/** The digest of which rows a caller may see: another one exactly when filters, or what they use of the caller, leave other rows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { INTEGER, TEXT } from 'gatehouse-iql'
import type { AttributeViews } from '../../../packages/server/src/query/catalogue/attributes.ts'
import type { TableDefinition } from '../../../packages/server/src/query/catalogue/definition.ts'
import { NO_COPIES } from '../../../packages/server/src/query/catalogue/licences.ts'
import { CatalogueSnapshot } from '../../../packages/server/src/query/catalogue/snapshot.ts'
import { digestVisibility, type Viewer } from '../../../packages/server/src/query/live/visibility.ts'

const ATTRIBUTES: AttributeViews = new Map([
  ['desk', { type: TEXT, many: false }],
  ['regions', { type: TEXT, many: true }],
])
const CALLER: Viewer = {
  principal: {
    ...{ subject: 'user-1', username: 'bob', clientId: 'app' },
    ...{ roles: ['trader', 'reader'], scopes: new Set(['Platform/Market']) },
  },
  values: { desk: ['FX'], regions: ['EU', 'US'] },
}

function digest(rowFilter: string | undefined, caller = CALLER, read = 'pads', columns = ['id', 'who']): string {
  const table: TableDefinition = {
    name: 'pads',
    columns: columns.map((name) => ({
      ...{ name, nullable: false, default: undefined },
      type: name === 'id' ? INTEGER : TEXT,
    })),
    primaryKey: ['id'],
    uniques: [],
    indexes: [],
    readScope: undefined,
    writeScope: undefined,
    rowFilter,
    description: undefined,
    isLive: true,
    created: 0n,
  }
  const snapshot = new CatalogueSnapshot([table], ATTRIBUTES)
  const found = snapshot.table(read)
  assert.ok(found)
  return digestVisibility([found], caller, { snapshot, copies: NO_COPIES })
}

const { principal, values } = CALLER
const CHANGES: readonly (readonly [what: string, caller: Viewer])[] = [
  ['sub', { principal: { ...principal, subject: 'user-2' }, values }],
  ['username', { principal: { ...principal, username: 'rob' }, values }],
  ['client', { principal: { ...principal, clientId: 'other' }, values }],
  ['roles', { principal: { ...principal, roles: ['reader'] }, values }],
  ['attribute.desk', { principal, values: { ...values, desk: ['EQ'] } }],
  ['attribute.desk', { principal, values: { regions: ['EU', 'US'] } }],
  ['attribute.regions', { principal, values: { ...values, regions: ['EU'] } }],
]

for (const [index, [name, changed]] of CHANGES.entries())
  test(`a change of :${name} (${index + 1}) is another digest where the filter uses it, and nowhere else`, () => {
    const filter = `who = :${name}`
    assert.notEqual(digest(filter), digest(filter, changed))
    const others = ['sub', 'username', 'client', 'roles', 'attribute.desk', 'attribute.regions']
    for (const other of others.filter((each) => each !== name))
      assert.equal(digest(`who = :${other}`), digest(`who = :${other}`, changed), other)
    assert.equal(digest(undefined), digest(undefined, changed))
  })

test('the filter counts, and columns and the order of roles do not', () => {
  assert.notEqual(digest(undefined), digest("who = 'x'"))
  assert.notEqual(digest("who = 'x'"), digest("who = 'y'"))
  assert.equal(digest("who = 'x'"), digest("who = 'x'", CALLER, 'pads', ['id', 'who', 'note']))
  const reversed = { principal: { ...principal, roles: principal.roles.toReversed() }, values }
  assert.equal(digest('who = :roles'), digest('who = :roles', reversed))
})

test('of tables that list what the caller may see the scopes count, and of the audit log nothing', () => {
  const more = { principal: { ...principal, scopes: new Set(['Platform/Market', 'Platform/Admin']) }, values }
  assert.notEqual(digest(undefined, CALLER, 'cataloguetables'), digest(undefined, more, 'cataloguetables'))
  assert.notEqual(digest(undefined, CALLER, 'alertstates'), digest(undefined, more, 'alertstates'))
  assert.equal(digest(undefined, CALLER, 'auditlog'), digest(undefined, more, 'auditlog'))
  assert.equal(digest(undefined, CALLER), digest(undefined, more))
})
