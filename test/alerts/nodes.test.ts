/** Alerts with two nodes: one tells, and the other goes on when it is lost. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import { type RunningProcess, serveProcess } from '../support/process.ts'
import { until } from '../support/until.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { AlertClient } from './alert-client.ts'

onEveryEngine('alerts with two nodes', (place, engine) => {
  // Two nodes share a database server.
  if (engine === 'sqlite') return
  let receiver: WebhookReceiver
  const nodes: RunningProcess[] = []
  let clients: AlertClient[] = []
  before(async () => {
    receiver = await startReceiver()
    const { dataFolder, databaseUrl } = place()
    const shared = ['--issuer', 'http://localhost:5999', '--master-key', randomBytes(32).toString('base64')]
    for (const name of ['one', 'other']) {
      const data = join(dataFolder, name)
      nodes.push(await serveProcess(['--demo', '--data', data, '--database-url', databaseUrl, ...shared]))
    }
    clients = await Promise.all(nodes.map((node) => AlertClient.signIn(node)))
  })
  after(async () => {
    for (const node of nodes) await node.stop('SIGKILL')
    await receiver.stop()
  })

  test('each transition is sent once and in order while keepers are stopped, killed and come back', async () => {
    const [first, second] = clients
    const [one, other] = nodes
    assert.ok(first && second && one && other)
    await first.declareChannel('hook', `${receiver.origin}/hook`)
    await first.query(
      "CREATE TABLE levels (id Integer PRIMARY KEY, level Integer NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
    )
    const { id } = await second.create({
      name: 'Level',
      statement: 'SELECT id, level FROM levels',
      when: 'level > 10',
      group: '0 seconds',
      channels: ['hook'],
    })
    await until('it is watched', 10_000, async () => (await second.get(id)).watched !== null)
    const keeper = (await first.countInState('ok')) === 1 ? 0 : 1
    const alive = clients[1 - keeper]
    const victim = nodes[keeper]
    assert.ok(alive && victim)
    const raise = (key: number) => alive.query(`INSERT INTO levels (id, level) VALUES (${key}, 20)`)
    await raise(1)
    await until('the first was sent', 5_000, () => receiver.received.length === 1)
    // It sleeps for longer than its lease, as in a long pause of its machine.
    victim.child.kill('SIGSTOP')
    await raise(2)
    await until('the other node tells', 10_000, () => keys().includes('2'))
    victim.child.kill('SIGCONT')
    await raise(3)
    await until('it goes on', 10_000, () => keys().includes('3'))
    victim.child.kill('SIGKILL')
    await raise(4)
    await until('all was sent', 10_000, () => keys().includes('4'))
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    const once = receiver.received.filter((_each, index) => ids.indexOf(ids[index]) === index)
    assert.deepEqual(
      once.map(({ body }) => body.data.sequence),
      [1, 2, 3, 4],
    )
    assert.deepEqual(
      once.flatMap(({ body }) => body.data.instances.map(({ key }: { key: unknown }) => String(key))),
      ['1', '2', '3', '4'],
    )
  })

  function keys(): readonly string[] {
    return receiver.received.flatMap(({ body }) => body.data.instances.map(({ key }: { key: unknown }) => String(key)))
  }
})
