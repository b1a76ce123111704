/** Alerts beside the requests of their owners: administration, declarative files, and the commands of owners. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ALICE } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import type { Finished } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { AlertClient } from './alert-client.ts'

const FILE = (origin: string) => `
channels:
  - { name: file-hook, kind: webhook, url: "${origin}/file", private: true, use: Platform/Market }
alerts:
  - name: From the file
    owner: alice
    statement: select symbol, bid from quotes
    when: bid > 0
    group: 0 seconds
    title: "{{symbol}}"
    channels: [file-hook]
`

onEveryEngineInLongRuns('alerts beside their owners', (place) => {
  let server: TestServer
  let receiver: WebhookReceiver
  let folder: string
  let admin: AlertClient
  let alice: AlertClient
  before(async () => {
    receiver = await startReceiver()
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-alerts-'))
    const config = join(folder, 'gatehouse.yaml')
    await writeFile(config, FILE(receiver.origin))
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--config': config } })
    admin = await AlertClient.signIn(server)
    alice = await AlertClient.signIn(server, ALICE)
  })
  after(async () => {
    await server.stop()
    await receiver.stop()
    await rm(folder, { recursive: true })
  })

  test('a file declares it with all rights of its owner; an export has it again', async () => {
    await until('it has arrived', 10_000, () => receiver.received.some(({ path }) => path === '/file'))
    const { items } = await admin.call('GET', '/admin/alerts')
    const [declared] = items
    assert.deepEqual([declared.owner, declared.name, declared.state], ['alice', 'From the file', 'firing'])
    assert.equal('instances' in declared, false)
    const { declaration } = await admin.call('GET', '/admin/declaration')
    assert.deepEqual(declaration.alerts, [
      {
        owner: 'alice',
        name: 'From the file',
        statement: 'select symbol, bid from quotes',
        when: 'bid > 0',
        group: '0 seconds',
        title: '{{symbol}}',
        channels: ['file-hook'],
      },
    ])
    const own = await alice.call('GET', '/alerts')
    assert.deepEqual(
      own.items.map(({ name }: { name: string }) => name),
      ['From the file'],
    )
  })

  test('administrators pause, hand over and delete; they change nothing else', async () => {
    const { id } = await alice.create({ name: 'Handed', statement: 'select symbol, bid from quotes', when: 'bid > 0' })
    const refused = await admin.request('PATCH', `/admin/alerts/${id}`, { statement: 'select symbol, ask from quotes' })
    assert.equal(refused.status, 422)
    assert.match(await refused.text(), /can be changed by its owner only/)
    const paused = await admin.call('PATCH', `/admin/alerts/${id}`, { paused: true })
    assert.equal(paused.paused, true)
    assert.equal((await admin.call('GET', `/admin/alerts/${id}`)).state, 'paused')
    await admin.call('PATCH', `/admin/alerts/${id}`, { paused: false })
    const handed = await admin.call('PATCH', `/admin/alerts/${id}`, { owner: 'admin' })
    assert.deepEqual([handed.owner, handed.paused], ['admin', true])
    assert.equal((await alice.request('GET', `/alerts/${id}`)).status, 404)
    // It has no rights until its new owner resumes it.
    const resumed = await admin.call('PATCH', `/alerts/${id}`, { paused: false })
    assert.equal(resumed.state, 'firing')
    await admin.call('DELETE', `/admin/alerts/${id}`)
    assert.equal((await admin.request('GET', `/alerts/${id}`)).status, 404)
    const unknown = await admin.request('PATCH', `/admin/alerts/${id}`, { owner: 'nobody' })
    assert.equal(unknown.status, 404)
  })

  test('a resumed alert that an administrator has handed over cannot be made to tell with the rights of before', async () => {
    const { id } = await admin.create({
      name: 'Strong',
      statement: 'select seq, event from auditlog',
      when: "event = 'never'",
    })
    await admin.call('PATCH', `/admin/alerts/${id}`, { owner: 'alice' })
    const resumed = await alice.request('PATCH', `/alerts/${id}`, { paused: false })
    assert.equal(resumed.status, 400)
    assert.match(await resumed.text(), /auditlog/)
    await admin.call('DELETE', `/admin/alerts/${id}`)
  })

  async function run(...words: string[]): Promise<Finished> {
    const password = join(folder, 'password')
    await writeFile(password, ALICE.password)
    const server_ = ['--server', `http://localhost:${server.port}`, '--username', 'alice', '--password-file', password]
    return runInProcess([...words, ...server_])
  }

  test('gatehouse alert: add, list, show, set, pause, resume, silence, test, history, deliveries, remove', async () => {
    const symbol = receiver.received[0]?.body.data.title ?? ''
    const added = await run(
      'alert',
      'add',
      'By hand',
      'select symbol, bid from quotes where symbol = :s',
      '-p',
      `s=${symbol}`,
      '--when',
      'bid > 0',
      '--channel',
      'file-hook',
      '--group',
      '0 seconds',
      '--active',
      '00:00-24:00',
    )
    assert.equal(added.status, 0, added.stderr)
    assert.match(added.stdout, /Made the alert/)
    const shown = await run('alert', 'show', 'By hand', '--json')
    const { id, parameters, active, instances } = JSON.parse(shown.stdout)
    assert.deepEqual([parameters, active, instances.length], [{ s: symbol }, [{ from: '00:00', to: '24:00' }], 1])
    assert.match((await run('alert', 'list')).stdout, /By hand +firing/)
    assert.match((await run('alert', 'set', 'By hand', '--title', '{{symbol}}!')).stdout, /\{\{symbol\}\}!/)
    assert.match((await run('alert', 'pause', id)).stdout, /paused/)
    assert.match((await run('alert', 'resume', 'By hand')).stdout, /firing/)
    assert.match(
      (await run('alert', 'silence', 'By hand', '--for', '2 hours', '--key', JSON.stringify([symbol]))).stdout,
      /silent until .*\[/,
    )
    assert.equal((await run('alert', 'silence', 'By hand', '--end')).status, 0)
    assert.match((await run('alert', 'test', 'By hand')).stdout, /Sent to file-hook/)
    assert.match((await run('alert', 'history', 'By hand')).stdout, /firing/)
    assert.match((await run('alert', 'deliveries', 'By hand')).stdout, /file-hook +\d+ +(sent|waiting)/)
    const wrong = await run('alert', 'set', 'By hand', '--when', 'bid * 2 > 1')
    assert.equal(wrong.status, 1)
    assert.match(wrong.stderr, /Alert.Invalid: when: A condition compares/)
    assert.match((await run('alert', 'remove', 'By hand', '--yes')).stdout, /was deleted/)
    assert.match((await run('alert', 'show', 'By hand')).stderr, /You have no alert "By hand"/)
  })
})
