/** The search for users: what it finds, in which order, page by page, and that it reads ranges of indexes only. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { type Profile, usernameKey } from '../../packages/server/src/store/accounts/user.ts'
import { type SearchHit, searchQuery } from '../../packages/server/src/store/accounts/user-search.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { userSearch } from '../../packages/server/src/store/database/migrations.ts'
import { foldText, searchKeys } from '../../packages/server/src/store/database/search-keys.ts'
import { createStores } from '../../packages/server/src/store/stores.ts'
import { onEveryEngine, openPlace } from '../support/engines.ts'
import { type OpenStores, openStores } from '../support/stores.ts'

onEveryEngine('the search for users', (place, engine) => {
  let open: OpenStores
  before(async () => {
    open = await openStores(place())
  })
  after(() => open.close())

  /** The usernames of all pages. */
  async function find(text: string, limit = 50): Promise<string[]> {
    const names: string[] = []
    let after: SearchHit | undefined
    do {
      const { users, next } = await open.stores.users.search(text, { limit, after })
      assert.ok(users.length <= limit)
      names.push(...users.map(({ username }) => username))
      after = next
    } while (after !== undefined)
    return names
  }

  test('users are found by the beginning of each name and of the address, whatever the case, and once', async () => {
    const { users } = open.stores
    await users.create({
      username: 'alice',
      profile: { name: 'Alice Liddell', family_name: 'Liddell', email: 'Alice@Wonderland.example' },
    })
    await users.create({ username: 'x17', profile: { given_name: 'Åsa', family_name: 'Öberg' } })
    await users.create({ username: 'queen', profile: { name: 'Queen  of   Hearts' } })
    await users.create({ username: 'dodo', profile: { nickname: 'Bird' } })
    await users.create({ username: 'al%', profile: { name: 7, email: null } })
    assert.deepEqual(await find('ALI'), ['alice'])
    assert.deepEqual(await find('alice@'), ['alice'])
    assert.deepEqual(await find('lid'), ['alice'])
    assert.deepEqual(await find('alice lid'), ['alice'])
    assert.deepEqual(await find('åsa ö'), ['x17'])
    assert.deepEqual(await find('ÖBERG'), ['x17'])
    assert.deepEqual(await find('queen of hearts'), ['queen'])
    assert.deepEqual(await find('hearts'), ['queen'])
    assert.deepEqual(await find('bird'), ['dodo'])
    assert.deepEqual(await find('al%'), ['al%'])
    assert.deepEqual(await find('iddell'), [])
    assert.deepEqual(await find('al'), ['al%', 'alice'], 'in the order of what begins with the text')
  })

  test('the order is that of code points on both engines', async () => {
    const { users } = open.stores
    await users.create({ username: 'order-2', profile: { name: 'w\u{10000}' } })
    await users.create({ username: 'order-1', profile: { name: 'w\u{fffd}', email: 'w\u{1f600}' } })
    await users.create({ username: 'order-3', profile: { name: 'w\u{1f601}' } })
    assert.deepEqual(await find('w'), ['order-1', 'order-2', 'order-3'])
  })

  test('a changed name is found, and the old one is not', async () => {
    const { users } = open.stores
    const id = await users.create({ username: 'carla', profile: { name: 'Carla Old' } })
    await users.update(id, { profile: { name: 'Carla Fresh', email: 'c.fresh@example.com' } })
    assert.deepEqual(await find('fresh'), ['carla'])
    assert.deepEqual(await find('c.fre'), ['carla'])
    assert.deepEqual(await find('old'), [])
    await users.remove(id)
    assert.deepEqual(await find('fresh'), [])
  })

  test('long texts are found by what is indexed of them', async () => {
    await open.stores.users.create({ username: 'long', profile: { name: `Zz${'é'.repeat(4000)}` } })
    assert.deepEqual(await find(`zz${'é'.repeat(2000)}`), ['long'])
  })

  test('pages of any size give the users that a comparison of all finds, each once', async () => {
    const { users, database } = { ...open.stores, database: open.database }
    await database.db.deleteFrom('users').execute()
    const part = fc.constantFrom('a', 'b', 'B', 'á', '𝔞', '😀', '﹏', '\u{fffd}', ' ', 'ab')
    const text = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''))
    const profiles = fc.sample(fc.record({ name: text, family_name: text, email: text }, { requiredKeys: [] }), {
      numRuns: 60,
      seed: 7,
    })
    const all: { username: string; profile: Profile }[] = []
    for (const [index, profile] of profiles.entries()) {
      const username = `${['a', 'b', 'ab', 'x'][index % 4]}${index}`
      await users.create({ username, profile })
      all.push({ username, profile })
    }
    for (const wanted of ['a', 'ab', 'b', 'á', 'x', '😀', 'a b', 'b1']) {
      const folded = foldText(wanted) ?? ''
      const expected = all.filter(({ username, profile }) =>
        [usernameKey(username), ...Object.values(searchKeys(profile))].some((key) => key?.startsWith(folded)),
      )
      for (const limit of [1, 3, 1000])
        assert.deepEqual(
          (await find(wanted, limit)).sort(),
          expected.map(({ username }) => username).sort(),
          `${wanted} by ${limit}`,
        )
    }
  })

  test('a page whose users are all on earlier ones reads a bounded number of entries, and says that there is more', async () => {
    const { users } = open.stores
    for (let index = 100; index < 125; index++)
      await users.create({ username: `twin-${index}`, profile: { name: `Twin ${index}` } })
    // The names, with a space, come before the usernames, with a dash.
    let after: SearchHit | undefined
    const sizes: number[] = []
    do {
      const page = await users.search('twin', { limit: 2, after })
      sizes.push(page.users.length)
      after = page.next
    } while (after !== undefined)
    assert.deepEqual([sizes.reduce((sum, size) => sum + size), sizes.at(-1), sizes.length < 17], [25, 0, true])
  })

  test('a search reads a range of each index from where the last page ended, and no table as a whole', async () => {
    for (const after of [undefined, { key: 'am', id: 'usr_x' }]) {
      const plan = await readPlan(searchQuery(open.database.db, 'a', after, 10).compile())
      for (const index of ['username_key', 'name_key', 'family_key', 'email_key'])
        assert.match(plan, new RegExp(`users_by_${index}`), plan)
      if (engine === 'sqlite') {
        assert.doesNotMatch(plan, /SCAN users/, plan)
        assert.match(plan, /SEARCH users USING COVERING INDEX users_by_name_key \(.*>.*AND name_key<\?\)/, plan)
      } else {
        assert.doesNotMatch(plan, /Seq Scan|Rows Removed/, plan)
        assert.equal(plan.match(/Index Cond:/g)?.length, 4, plan)
        assert.match(plan, /Index Cond: \(\(ROW\(name_key, id\) > ROW\(.*AND \(name_key < /, plan)
      }
    }
  })

  test('a list by the beginning of the username reads a range of its index', async () => {
    const seen: string[] = []
    const watched = await openDatabase({
      dataFolder: place().dataFolder,
      url: place().databaseUrl,
      onStatement: ({ sql: text }) => seen.push(text),
    })
    try {
      await createStores(watched, Date.now).users.list({ prefix: 'a', limit: 10 })
    } finally {
      await watched.close()
    }
    const statement = seen.findLast((text) => text.includes('username_key'))
    assert.match(statement ?? '', /"username_key" >= .* and "username_key" < /)
    assert.doesNotMatch(statement ?? '', /substr|like/)
  })

  async function readPlan({ sql: text, parameters }: { sql: string; parameters: readonly unknown[] }): Promise<string> {
    if (engine === 'sqlite') {
      const { rows } = await sql<{ detail: string }>`${explained(`explain query plan ${text}`, parameters)}`.execute(
        open.database.db,
      )
      return rows.map(({ detail }) => detail).join('\n')
    }
    return open.database.db.transaction().execute(async (tx) => {
      // The table is small: the planner would rather read all of it.
      await sql`set local enable_seqscan = off`.execute(tx)
      await sql`set local enable_bitmapscan = off`.execute(tx)
      const { rows } = await sql<{ 'QUERY PLAN': string }>`${explained(`explain ${text}`, parameters)}`.execute(tx)
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    })
  }

  /** The text with its parameters where the placeholders are. */
  function explained(text: string, parameters: readonly unknown[]) {
    const parts = text.split(/\?|\$\d+/)
    return sql.join(
      parts.flatMap((part, index) => (index === 0 ? [sql.raw(part)] : [sql`${parameters[index - 1]}`, sql.raw(part)])),
      sql.raw(''),
    )
  }
})

test('the migration fills the keys of users who were there before', async () => {
  for (const engine of ['sqlite', 'postgres'] as const) {
    const { place, leave } = await openPlace(engine)
    const { database, stores, close } = await openStores(place)
    try {
      await database.db
        .insertInto('users')
        .values(
          Array.from({ length: 1203 }, (_value, index) => ({
            id: `usr_${index}`,
            username: `u${index}`,
            username_key: `u${index}`,
            password_hash: null,
            password_changed_at: 0,
            declared_digest: null,
            profile: JSON.stringify(index % 2 === 0 ? { name: `Person ${index}`, email: `p${index}@EXAMPLE.com` } : {}),
            disabled: 0,
            created_at: 0,
            updated_at: 0,
          })),
        )
        .execute()
      for (const column of ['name_key', 'family_key', 'email_key'])
        await database.db.schema.dropIndex(`users_by_${column}`).execute()
      for (const column of ['name_key', 'family_key', 'email_key'])
        await database.db.schema.alterTable('users').dropColumn(column).execute()
      await database.db.transaction().execute((tx) => userSearch.up(tx))
      const { users } = await stores.users.search('p1202@', { limit: 5 })
      assert.deepEqual(
        users.map(({ username }) => username),
        ['u1202'],
      )
      assert.equal((await stores.users.search('person', { limit: 1000 })).users.length, 602)
    } finally {
      await close()
      await leave()
    }
  }
})
