/** The addresses of documents: which a client_id can be, and which entry of the allow list is for it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowedAgentFault, documentAddressFault } from 'gatehouse-protocol'
import { AllowedAgents } from '../../../packages/server/src/store/agents/allowed-agents.ts'

test('a client_id that names a document is https with a path, written in one way', () => {
  const good = [
    'https://claude.ai/oauth/client.json',
    'https://a.example:8443/x',
    'https://xn--bcher-kva.example/a%20b',
    `https://a.example/${'x'.repeat(494)}`,
    'http://localhost:5000/x',
    'http://127.0.0.1/x',
    'https://[2001:db8::1]/x',
  ]
  for (const id of good) assert.equal(documentAddressFault(id), undefined, id)
  const bad = [
    'https://claude.ai',
    'https://claude.ai/',
    'http://claude.ai/x',
    'https://user@claude.ai/x',
    'https://:pw@claude.ai/x',
    'https://claude.ai/x?y',
    'https://claude.ai/x?',
    'https://claude.ai/x#',
    'https://claude.ai/a/../x',
    'https://claude.ai/./x',
    'https://claude.ai/a/%2e%2e/x',
    'https://claude.ai/%2E/x',
    'https://claude.ai/a%2fx',
    'https://claude.ai/a%5Cx',
    'https://claude.ai//x',
    'https://claude.ai/a\\x',
    'https://Claude.ai/x',
    'HTTPS://claude.ai/x',
    'https://claude.ai:443/x',
    'https://claude.ai./x y',
    'https://clаude.ai/x',
    'https://claude.ai/ü',
    ' https://claude.ai/x',
    'https://claude.ai/x\n',
    'https:/claude.ai/x',
    'https:claude.ai/x',
    'https://1/x',
    'https://0x7f.1/x',
    'claude.ai/x',
    'ftp://claude.ai/x',
    `https://a.example/${'x'.repeat(495)}`,
    '',
  ]
  for (const id of bad) assert.notEqual(documentAddressFault(id), undefined, id)
})

test('an entry is a host with its port unless that is 443, a whole client_id, or *', () => {
  for (const allow of ['*', 'claude.ai', 'localhost:5000', 'a.example:8443', '[::1]:80', 'https://claude.ai/x'])
    assert.equal(allowedAgentFault(allow), undefined, allow)
  for (const allow of [
    '',
    '*.claude.ai',
    'Claude.ai',
    'claude.ai:443',
    'a b',
    'https://claude.ai/',
    'claude.ai/x',
    'u@claude.ai',
    'a?b',
    'claude.ai#',
    '.',
  ])
    assert.notEqual(allowedAgentFault(allow), undefined, allow)
})

test('the most precise entry counts, and no host stands for another', () => {
  const allowed = new AllowedAgents([
    { allow: 'claude.ai', scopes: ['host'] },
    { allow: 'https://claude.ai/one', scopes: ['one'] },
    { allow: 'localhost:80', scopes: ['local'] },
  ])
  const found = (id: string) => allowed.find(id)?.scopes?.[0]
  assert.deepEqual(
    ['https://claude.ai/one', 'https://claude.ai/two', 'https://claude.ai:8443/one', 'https://evil.claude.ai/one'].map(
      found,
    ),
    ['one', 'host', undefined, undefined],
  )
  assert.deepEqual(
    [
      'https://claude.ai.evil.example/x',
      'https://claude.ai@evil.example/x',
      'http://localhost/x',
      'https://localhost/x',
    ].map(found),
    [undefined, undefined, 'local', undefined],
  )
  assert.equal(new AllowedAgents([{ allow: '*' }]).find('https://a.example/x')?.allow, '*')
  assert.equal(new AllowedAgents([{ allow: '*' }]).find('https://a.example/'), undefined)
})
