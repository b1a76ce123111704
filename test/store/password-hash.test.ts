/** Password hashes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashPassword, needsRehash, verifyPassword } from '../../packages/server/src/store/accounts/password-hash.ts'

test('C-112: passwords are hashed with Argon2id and compared in NFKC', async () => {
  const hash = await hashPassword('wonderland-é')
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  assert.equal(await verifyPassword(hash, 'wonderland-e\u0301'), true)
  assert.equal(await verifyPassword(hash, 'wonderland-e'), false)
  assert.equal(needsRehash(hash), false)
  assert.equal(needsRehash(hash.replace('t=2', 't=3')), true)
})

test('C-112: a password longer than the cap is refused without hashing', async () => {
  const long = 'x'.repeat(5000)
  assert.equal(await verifyPassword(await hashPassword(long), long), false)
})
