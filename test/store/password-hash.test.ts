/** Password hashes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashPassword, isPasswordHash, needsRehash, verifyPassword } from '../../src/store/password-hash.ts'

test('C-112: passwords are kept as Argon2id and verified whatever the keyboard composed', async () => {
  const made = await hashPassword('wonderland-é')
  assert.match(made, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  assert.equal(isPasswordHash(made), true)
  assert.equal(await verifyPassword(made, 'wonderland-e\u0301'), true)
  assert.equal(await verifyPassword(made, 'wonderland-e'), false)
  assert.equal(needsRehash(made), false)
  assert.equal(needsRehash(made.replace('t=2', 't=3')), true)
})

test('C-112: a password longer than the cap is refused without hashing', async () => {
  const long = 'x'.repeat(5000)
  assert.equal(await verifyPassword(await hashPassword(long), long), false)
})

test('what is no Argon2 hash is not taken for one', () => {
  for (const text of ['', 'secret', '$2b$10$abcdefghijklmnopqrstuv', '$argon2id$v=19$m=1$x']) {
    assert.equal(isPasswordHash(text), false, text)
  }
})
