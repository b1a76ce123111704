/** Attributes in the declarative file: created before the filters that use them, kept, pruned, and what is refused. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Refusal } from 'gatehouse-protocol'
import { BadDeclaration } from '../../packages/server/src/declarative/bad-declaration.ts'
import { exportDeclaration, readDefinitions } from '../../packages/server/src/declarative/export.ts'
import { findDeclared, reconcile } from '../../packages/server/src/declarative/reconcile.ts'
import type { Declaration } from '../../packages/server/src/declarative/shape.ts'
import { openQuery, type QueryService } from '../../packages/server/src/query/service.ts'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { createStores, type WritableStores as Stores } from '../../packages/server/src/store/stores.ts'
import { openTestAudit } from '../support/audit.ts'
import { deriveKey } from '../support/derived-key.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { createLocalBus } from '../support/local-bus.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-attributes-'))
after(() => rmSync(folder, { recursive: true }))

const DESK = { name: 'desk', type: 'Text', many: true } as const
const TABLE = {
  name: 'positions',
  columns: [{ name: 'desk', type: 'Text' }],
  row_filter: 'desk = :attribute.desk',
}

onEveryEngineInLongRuns('declared attributes', (place) => {
  let database: Database
  let query: QueryService
  let stores: Stores
  before(async () => {
    const { dataFolder, databaseUrl } = place()
    database = await openDatabase({ dataFolder, url: databaseUrl })
    stores = createStores(database, Date.now)
    query = await openQuery({
      deriveKey,
      bus: createLocalBus(),
      clock: Date.now,
      database: { dataFolder, databaseUrl },
      attributes: { definitions: () => stores.attributes.list(), currentValues: () => ({}) },
      onError: (error) => assert.fail(String(error)),
    })
  })
  after(async () => {
    await query.close()
    await database.close()
  })

  async function applied(declaration: Declaration, tables = query.tables): Promise<string[]> {
    writeFileSync(join(folder, 'file.json'), JSON.stringify(declaration))
    const declared = await findDeclared({ config: join(folder, 'file.json'), demo: false })
    assert.ok(declared)
    const keys = {
      audit: openTestAudit(database),
      mail: undefined,
      digestKey: Buffer.alloc(32),
      providerKey: Buffer.alloc(32),
    }
    const env = { database, clock: Date.now, environment: { SECRET: 'long enough' }, tables, ...keys }
    return (await reconcile(declared, env)).map(({ action, what, name }) => `${action} ${what} ${name}`)
  }
  const refused = async (declaration: Declaration, path: string, text: RegExp): Promise<void> => {
    await assert.rejects(applied(declaration), (error: Error) => {
      assert.ok(error instanceof BadDeclaration, String(error))
      assert.equal(error.faults[0]?.path, path)
      assert.match(error.faults[0]?.text ?? '', text)
      return true
    })
  }

  test('a filter over an attribute that is neither in the file nor in the database is refused', async () => {
    await refused({ tables: [TABLE] }, 'tables[0].row_filter', /There is no attribute desk/)
    const type = { name: 'desk', type: 'Integer' } as const
    await refused({ attributes: [type], tables: [TABLE] }, 'tables[0].row_filter', /Text.*Integer/)
    assert.deepEqual(await stores.attributes.list(), [])
  })

  test('if a table cannot be created, its attributes are not left behind', async () => {
    const failing = { ...query.tables, create: () => Promise.reject(new Refusal('Data.Conflict', 409, 'full')) }
    await assert.rejects(applied({ attributes: [DESK], tables: [TABLE] }, failing), BadDeclaration)
    assert.deepEqual([await stores.attributes.list(), await query.tables.list()], [[], []])
  })

  test('attributes come before the users, clients and filters that use them', async () => {
    const client = {
      client_id: 'robot',
      client_secret: { env: 'SECRET' },
      grant_types: ['client_credentials' as const],
    }
    const users = [{ username: 'alice', attributes: { desk: ['Rates', 'FX'] } }, { username: 'bob' }]
    const clients = [{ ...client, attributes: { desk: 'FX' } }]
    const file: Declaration = { attributes: [DESK], users, clients, tables: [TABLE] }
    assert.deepEqual(await applied(file), [
      ...['create attribute desk', 'create user alice', 'create user bob', 'create client robot'],
      'create table positions',
    ])
    assert.deepEqual(await applied(file), [])
    assert.deepEqual((await stores.users.findByUsername('alice'))?.attributes, { desk: ['FX', 'Rates'] })
  })

  test('what others gave a user stays unless the file lists attributes; then these are all', async () => {
    const bob = await stores.users.findByUsername('bob')
    await stores.users.update(bob?.id ?? '', { attributes: { desk: ['Equities'] } })
    assert.deepEqual(await applied({ users: [{ username: 'bob' }] }), [])
    assert.deepEqual(await applied({ users: [{ username: 'bob', attributes: {} }] }), ['update user bob'])
    assert.deepEqual((await stores.users.findByUsername('bob'))?.attributes, {})
    const events = await database.db.selectFrom('events').select('body').execute()
    assert.ok(events.some(({ body }) => body.includes('user-changed') && body.includes('desk')))
  })

  test('the export gives a file that changes nothing', async () => {
    const definitions = await readDefinitions(query.tables)
    const file = await exportDeclaration(stores, { users: true, definitions, operator: false })
    assert.deepEqual(file.attributes, [DESK])
    const { clients, ...rest } = file
    assert.deepEqual(await applied(rest as Declaration), [])
  })

  test('a type is not changed, and what is used is not pruned', async () => {
    await refused({ attributes: [{ ...DESK, many: false }] }, 'attributes[0].many', /cannot be changed/)
    const other = { name: 'level', type: 'Integer' } as const
    await refused({ attributes: [other], prune: true }, 'prune', /the row filter of positions, the client robot/)
    await refused(
      { attributes: [other], users: [{ username: 'x', attributes: { desk: 'FX' } }], prune: true },
      'users[0].attributes.desk',
      /unknown attribute/,
    )
    const changes = await applied({ attributes: [other], clients: [], tables: [], prune: true })
    assert.ok(changes.includes('remove attribute desk') && changes.includes('create attribute level'), String(changes))
    assert.deepEqual((await stores.users.findByUsername('alice'))?.attributes, {})
  })

  test('there are at most 64', async () => {
    const many = Array.from({ length: 65 }, (_item, index) => ({ name: `a${index}`, type: 'Text' as const }))
    await refused({ attributes: many, prune: true }, 'attributes', /at most 64/)
  })
})
