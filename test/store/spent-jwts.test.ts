/** JWTs that may be used once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSpentJwts } from '../../packages/server/src/store/authorizations/spent-jwts.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { EMPTY, onEveryEngine } from '../support/engines.ts'

onEveryEngine('JWTs that may be used once', EMPTY, (place) => {
  test('RFC 7519 §2: exp and iat may have a fraction', async (t) => {
    const database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    t.after(() => database.close())
    const { spend } = createSpentJwts(database.db)
    const expiresAt = 1_790_000_000.123456 * 1000
    assert.equal(await spend('client assertion', 'desk', 'one', expiresAt), true)
    assert.equal(await spend('client assertion', 'desk', 'one', expiresAt), false)
    const [row] = await database.db.selectFrom('spent_jwts').select('expires_at').execute()
    assert.equal(Number(row?.expires_at), 1_790_000_000_124)
  })
})
