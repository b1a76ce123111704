/** What the page "Connect a tool" shows can be pasted: the words of libpq, URIs and JDBC. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolSnippets } from '../../packages/console/src/areas/tools/snippets.ts'

const PLACE = {
  host: 'gate.example.com',
  port: 5433,
  tls: true,
  issuer: 'https://gate.example.com',
  username: 'ann+ops',
}

test('each way to sign in has its user, and TLS is verified where there is a certificate', () => {
  const texts = (way: Parameters<typeof toolSnippets>[0]) => toolSnippets(way, PLACE).map(({ text }) => text)
  assert.deepEqual(texts('device'), [
    'psql "host=gate.example.com port=5433 dbname=gatehouse user=oauth sslmode=verify-full sslrootcert=system oauth_issuer=https://gate.example.com oauth_client_id=gatehouse-tools"',
  ])
  const [psql, python, grafana, uri, environment, jdbc] = texts('token')
  assert.match(psql ?? '', /^PGPASSWORD=\$\(gatehouse token --server https:\/\/gate.example.com\) psql ".* user=token /)
  assert.match(
    python ?? '',
    /create_engine\("postgresql\+psycopg:\/\/token@gate\.example\.com:5433\/gatehouse\?sslmode=verify-full"\)$/,
  )
  assert.equal(
    grafana,
    'Host URL: gate.example.com:5433\nDatabase name: gatehouse\nUsername: token\nTLS/SSL Mode: verify-full',
  )
  assert.equal(uri, 'postgresql://token@gate.example.com:5433/gatehouse?sslmode=verify-full')
  assert.match(environment ?? '', /^export PGHOST=gate\.example\.com\nexport PGPORT=5433\n/)
  assert.equal(jdbc, 'jdbc:postgresql://gate.example.com:5433/gatehouse?user=token&sslmode=verify-full')
  assert.equal(new URL(texts('password')[3] ?? '').username, 'ann%2Bops')
})

test('without TLS nothing demands it, and psql 18 is told that http is meant', () => {
  const place = { ...PLACE, tls: false, host: 'localhost', issuer: 'http://localhost:5080' }
  for (const way of ['device', 'token', 'client', 'password'] as const)
    for (const { text } of toolSnippets(way, place)) assert.doesNotMatch(text, /ssl(?! mode: disable)/i)
  assert.match(toolSnippets('device', place)[0]?.text ?? '', /^PGOAUTHDEBUG=UNSAFE psql /)
})
