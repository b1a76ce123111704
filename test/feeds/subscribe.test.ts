/** Subscribing to feeds on a stream: state, history, patterns, rates, resumption and rights. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import type { StreamClient } from '../support/stream-client.ts'
import { until } from '../support/until.ts'
import { type FeedServer, startFeedServer } from './feed-server.ts'

onEveryEngineInLongRuns('subscriptions of feeds', (place) => {
  let server: FeedServer
  let stream: StreamClient
  let topics = 0
  /** A topic that no other test uses. */
  let topic: string
  before(async () => {
    server = await startFeedServer(place())
  })
  beforeEach(async () => {
    topic = `T${++topics}`
    stream = await server.stream()
  })
  after(() => server.stop())

  const sub = (controller: string, name: string, data?: object): object => ({
    ...{ Controller: controller, Topic: name, Action: 'Sub', TransactionID: 1, Confirm: true },
    ...(data === undefined ? {} : { Data: data }),
  })
  const publish = async (feed: string, name: string, data: unknown): Promise<string> =>
    String((await server.publish(`/feeds/${feed}/${encodeURIComponent(name)}`, data)).body.Position)
  /** What differs between messages. */
  const shown = ({ Controller, Action, ...rest }: Record<string, unknown>) => rest
  const confirmed = async (message: object): Promise<void> => {
    assert.equal((await stream.request(message)).Confirm, true)
  }

  test('the state comes first, then what is published; without history there is no position', async () => {
    await publish('Prices', topic, 1)
    await publish('Prices', topic, 2)
    await confirmed(sub('Prices', topic))
    assert.deepEqual(await stream.next(), { Controller: 'Prices', Topic: topic, Action: 'Publish', Data: 2 })
    await publish('Prices', topic, { last: 3 })
    assert.deepEqual(shown(await stream.next()), { Topic: topic, Data: { last: 3 } })
  })

  test('every digit of a number arrives as it was published', async () => {
    await confirmed(sub('Prices', topic))
    const data = '{"price":101.25000000000000000000001,"id":12345678901234567890,"small":1e-400,"list":[1.0, 2]}'
    await server.send('POST', `/feeds/Prices/${topic}`, { body: data })
    assert.ok((await stream.nextText()).endsWith(`"Data":${data}}`))
    stream.send(`{"Controller":"Prices","Topic":"${topic}","Action":"Publish","Data":${data}}`)
    assert.ok((await stream.nextText()).endsWith(`"Data":${data}}`))
  })

  test('a Publish without TransactionID gets no reply, one with it the position', async () => {
    const message = { Controller: 'Orders', Topic: topic, Action: 'Publish', Data: 1 }
    stream.send(message)
    await stream.expectSilence()
    const reply = await stream.request({ ...message, TransactionID: 5 })
    assert.equal(reply.TransactionID, 5)
    assert.match(String(Object(reply.Data).Position), /^[\x21-\x7e]{1,128}$/)
  })

  test('publications of one connection overlap, and are stored and answered in their order', async () => {
    const count = 100
    for (let id = 0; id < count; id++) {
      const bad = id === 50 ? { Topic: 'not*a topic' } : {}
      stream.send({ Controller: 'Orders', Topic: topic, Action: 'Publish', TransactionID: id, Data: id, ...bad })
    }
    stream.send({ Topic: 'QueryServerInfo', TransactionID: count })
    const replies = []
    for (let id = 0; id <= count; id++) replies.push(await stream.next())
    assert.deepEqual(
      replies.map(({ TransactionID: id }) => id),
      Array.from({ length: count + 1 }, (_each, id) => id),
    )
    assert.equal(replies[50]?.Data, 'Data Topic')
    const history = await (await server.send('GET', `/feeds/Orders/${topic}?last=1000`)).json()
    const stored = (history as { Messages: { Data: number }[] }).Messages.map(({ Data }) => Data)
    assert.deepEqual(
      stored,
      [...Array(count).keys()].filter((id) => id !== 50),
    )
  })

  test('publications of one connection stay in their order while the bytes of all feeds are counted', async () => {
    // They are counted each second: one of these requests begins it.
    const count = 600
    for (let id = 0; id < count; id++) {
      stream.send({ Controller: 'Orders', Topic: topic, Action: 'Publish', TransactionID: id, Data: id })
      if (id % 20 === 19) await pause(40)
    }
    for (let id = 0; id < count; id++) assert.equal((await stream.next()).TransactionID, id)
    const history = await (await server.send('GET', `/feeds/Orders/${topic}?last=1000`)).json()
    const stored = (history as { Messages: { Data: number }[] }).Messages.map(({ Data }) => Data)
    assert.deepEqual(stored, [...Array(count).keys()].slice(-stored.length))
  })

  test('a Sub is counted like any other', async () => {
    await confirmed(sub('Orders', topic))
    await confirmed(sub('Orders', topic))
    await confirmed({ ...sub('Orders', topic), Action: 'Unsub' })
    await publish('Orders', topic, 1)
    assert.equal((await stream.next()).Data, 1)
    await confirmed({ ...sub('Orders', topic), Action: 'Unsub' })
    await publish('Orders', topic, 2)
    await stream.expectSilence()
  })

  test('Resume sends what was missed, in order and once, and says that nothing is missing', async () => {
    const position = await publish('Orders', topic, 1)
    for (const data of [2, 3]) await publish('Orders', topic, data)
    await confirmed(sub('Orders', topic, { Resume: position }))
    const [second, third] = [await stream.next(), await stream.next()]
    assert.deepEqual([second.Data, second.Recovered, third.Data, third.Recovered], [2, true, 3, undefined])
    await publish('Orders', topic, 4)
    assert.equal((await stream.next()).Data, 4)
  })

  test('Resume with nothing missed sends one message without Data', async () => {
    const position = await publish('Orders', topic, 1)
    await confirmed(sub('Orders', topic, { Resume: position }))
    assert.deepEqual(shown(await stream.next()), { Topic: topic, Position: position, Recovered: true })
  })

  test('Resume beyond the history says so, and sends what is kept', async () => {
    const position = await publish('Quotes', topic, 0)
    for (let data = 1; data <= 9; data++) await publish('Quotes', topic, data)
    await confirmed(sub('Quotes', topic, { Resume: position }))
    const first = await stream.next()
    assert.deepEqual([first.Data, first.Recovered], [9, false])
    await stream.expectSilence()
  })

  test('a position of another topic, feed or from nowhere is refused with Data Resume', async () => {
    const position = await publish('Orders', topic, 1)
    for (const [feed, name, resume] of [
      ['Orders', 'other', position],
      ['Quotes', topic, position],
      ['Orders', '*', position],
      ['Orders', topic, 'forged'],
      ['Orders', topic, ''],
    ]) {
      const error = await stream.request({ ...sub(String(feed), String(name), { Resume: resume }), Confirm: false })
      assert.equal(error.Data, 'Data Resume', `${feed} ${name} ${resume}`)
    }
    assert.equal(
      (await stream.request({ ...sub('Prices', topic, { Resume: position }), Confirm: false })).Data,
      'Data Resume',
    )
  })

  test('a position ahead of the newest message recovers nothing', async () => {
    const position = await publish('Orders', topic, 1)
    await confirmed(sub('Orders', topic, { Resume: position.replace(/-\w+-/, '-zzzzzz-') }))
    const first = await stream.next()
    assert.deepEqual([first.Data, first.Recovered], [1, false])
  })

  test('a purge makes earlier positions worthless, and tells subscribers', async () => {
    const position = await publish('Quotes', topic, 1)
    await confirmed(sub('Quotes', topic))
    assert.equal((await stream.next()).Data, 1)
    assert.equal((await server.send('POST', '/admin/feeds/Quotes/purge', { token: server.admin })).status, 204)
    assert.deepEqual({ ...shown(await stream.next()), Position: '' }, { Topic: topic, Removed: true, Position: '' })
    await publish('Quotes', topic, 2)
    assert.equal((await stream.next()).Data, 2)
    const again = await server.stream()
    again.send(sub('Quotes', topic, { Resume: position }))
    await again.next()
    const first = await again.next()
    assert.deepEqual([first.Data, first.Recovered], [2, false])
  })

  test('Last sends the latest messages first', async () => {
    for (let data = 1; data <= 4; data++) await publish('Orders', topic, data)
    await confirmed(sub('Orders', topic, { Last: 2 }))
    assert.deepEqual([(await stream.next()).Data, (await stream.next()).Data], [3, 4])
    await publish('Orders', topic, 5)
    assert.equal((await stream.next()).Data, 5)
  })

  test('a pattern sends the states of all topics below it, and topics to come', async () => {
    await publish('Prices', `${topic}/A`, 1)
    await publish('Prices', `${topic}/B`, 2)
    await publish('Prices', `${topic}B/C`, 3)
    await confirmed(sub('Prices', `${topic}/*`))
    assert.deepEqual(
      [shown(await stream.next()), shown(await stream.next())],
      [
        { Topic: `${topic}/A`, Pattern: `${topic}/*`, Data: 1 },
        { Topic: `${topic}/B`, Pattern: `${topic}/*`, Data: 2 },
      ],
    )
    await publish('Prices', `${topic}/new/one`, 4)
    assert.deepEqual(shown(await stream.next()), { Topic: `${topic}/new/one`, Pattern: `${topic}/*`, Data: 4 })
    // A message of two subscriptions comes once for each, and says for which.
    await confirmed(sub('Prices', `${topic}/new/two`))
    await publish('Prices', `${topic}/new/two`, 5)
    const both = [await stream.next(), await stream.next()]
    assert.deepEqual(new Set(both.map(({ Pattern: pattern }) => pattern)), new Set([undefined, `${topic}/*`]))
  })

  test('the confirmation of a Sub with Data says where to resume, if no message has come yet', async () => {
    await publish('Orders', topic, 1)
    const { Data: begins } = await stream.request(sub('Orders', topic, {}))
    const { Keep: keep, Position: position } = begins as Record<string, unknown>
    assert.equal(keep, 'all')
    await publish('Orders', topic, 2)
    const again = await server.stream()
    await again.request(sub('Orders', topic, { Resume: position }))
    const { Data: data, Recovered: recovered } = await again.next()
    assert.deepEqual([data, recovered], [2, true])
    // The state has a position of its own; without Data it is the confirmation of every topic.
    await publish('Prices', topic, 1)
    const third = await server.stream()
    assert.deepEqual((await third.request(sub('Prices', topic, { MaxRate: 5 }))).Data, { Keep: 'latest' })
    assert.equal((await again.request(sub('Prices', topic))).Data, undefined)
  })

  test('a pattern resumes by its own positions', async () => {
    await publish('Orders', `${topic}/A`, 1)
    await confirmed(sub('Orders', `${topic}/*`, { Last: 10 }))
    const { Position: position } = await stream.next()
    await publish('Orders', `${topic}/B`, 2)
    const again = await server.stream()
    again.send(sub('Orders', `${topic}/*`, { Resume: position }))
    await again.next()
    assert.deepEqual(
      { ...shown(await again.next()), Position: '' },
      { Topic: `${topic}/B`, Pattern: `${topic}/*`, Data: 2, Recovered: true, Position: '' },
    )
  })

  test('a removed topic is told, and comes back with its next message', async () => {
    await publish('Prices', topic, 1)
    await confirmed(sub('Prices', topic))
    assert.equal((await stream.next()).Data, 1)
    assert.equal((await server.send('DELETE', `/feeds/Prices/${topic}`)).status, 204)
    assert.deepEqual(shown(await stream.next()), { Topic: topic, Removed: true })
    await publish('Prices', topic, 2)
    assert.equal((await stream.next()).Data, 2)
  })

  test('MaxRate skips messages, but never the last', async () => {
    await confirmed(sub('Prices', topic, { MaxRate: 5 }))
    const batch = Array.from({ length: 50 }, (_each, data) => ({ Topic: topic, Data: data }))
    const start = performance.now()
    for (let at = 0; at < 50; at += 10) await server.publish('/feeds/Prices', batch.slice(at, at + 10))
    const received: unknown[] = []
    while (received.at(-1) !== 49) received.push((await stream.next()).Data)
    assert.ok(received.length <= 2 + (performance.now() - start) / 190, `${received.length} messages`)
    await stream.expectSilence()
  })

  test('what cannot be asked for is refused with the member that is wrong', async () => {
    for (const [feed, data, error] of [
      ['Prices', { MaxRate: 51 }, 'Data MaxRate'],
      ['Prices', { MaxRate: '1' }, 'Data.Deserialise MaxRate'],
      ['Orders', { MaxRate: 1 }, 'Data MaxRate'],
      ['Orders', { Last: 1001 }, 'Data Last'],
      ['Orders', { Last: 0.5 }, 'Data.Deserialise Last'],
      ['Orders', { Resume: 1 }, 'Data.Deserialise Resume'],
      ['Orders', [], 'Data.Deserialise Data'],
    ] as const)
      assert.equal((await stream.request({ ...sub(feed, topic, data), Confirm: false })).Data, error)
    assert.equal((await stream.request({ ...sub('Orders', 'a*b'), Confirm: false })).Data, 'Data Topic')
  })

  test('at most 100 patterns a connection', async () => {
    for (let each = 0; each < 100; each++) await confirmed(sub('Orders', `${topic}/${each}/*`))
    assert.equal(
      (await stream.request({ ...sub('Orders', `${topic}/more/*`), Confirm: false })).Data,
      'Limited patterns',
    )
    await confirmed({ ...sub('Orders', `${topic}/0/*`), Action: 'Unsub' })
    await confirmed(sub('Orders', `${topic}/more/*`))
  })

  test('a feed that the caller may not use does not exist; one that it may only read cannot be published to', async () => {
    assert.equal((await stream.request({ ...sub('Secret', topic), Confirm: false })).Data, 'Controller Secret')
    assert.equal((await stream.request({ ...sub('Missing', topic), Confirm: false })).Data, 'Controller Missing')
    const request = { Controller: 'Secret', Topic: topic, TransactionID: 1, Data: 1 }
    assert.equal((await stream.request(request)).Data, 'Controller Secret')
    const feed = { name: `Readable${topics}`, read: 'identity', write: 'Platform/Admin' }
    await server.send('POST', '/admin/feeds', { token: server.admin, body: feed })
    const refused = { ...request, Controller: feed.name }
    await until('it may be read', 2000, async () => (await stream.request(refused)).Data === 'Authority')
    const { status, headers } = await server.send('POST', `/feeds/${feed.name}/${topic}`, { body: 1 })
    assert.equal(status, 403)
    assert.match(headers.get('www-authenticate') ?? '', /^Bearer .*error="insufficient_scope".*scope="Platform\/Admin"/)
  })

  test('a feed that is changed takes subscriptions from those who may not read it any more', async () => {
    const feed = { name: `Changing${topics}`, read: 'identity', write: 'Platform/Trading' }
    await server.send('POST', '/admin/feeds', { token: server.admin, body: feed })
    await confirmed(sub(feed.name, topic))
    const change = { read: 'Platform/Admin' }
    const headers = { 'if-match': '*' }
    await server.send('PATCH', `/admin/feeds/${feed.name}`, { token: server.admin, body: change, headers })
    assert.equal((await stream.next()).Data, 'Authority')
    assert.deepEqual(shown(await stream.next()), { Topic: topic, Confirm: true })
    assert.equal((await stream.request({ ...sub(feed.name, topic), Confirm: false })).Data, 'Authority')
    await server.send('DELETE', `/admin/feeds/${feed.name}`, { token: server.admin, headers })
    await until('the feed is gone', 2000, async () => {
      const { Data: data } = await stream.request({ ...sub(feed.name, topic), Confirm: false })
      return data === `Controller ${feed.name}`
    })
  })

  test('subscribers of the same topic with other starts all end with the same messages', async () => {
    const streams = await Promise.all(Array.from({ length: 6 }, () => server.stream()))
    const position = await publish('Orders', topic, 0)
    let isDone = false
    const publishing = (async () => {
      for (let data = 1; data <= 150; data++) await publish('Orders', topic, data)
      isDone = true
    })()
    const received = await Promise.all(
      streams.map(async (each, index) => {
        await pause(index * 20)
        each.send(sub('Orders', topic, { Resume: position }))
        const seen: number[] = []
        await each.next()
        while (seen.at(-1) !== 150) seen.push(Number((await each.next()).Data))
        return seen
      }),
    )
    await publishing
    assert.ok(isDone)
    for (const seen of received)
      assert.deepEqual(
        seen.filter((data) => !Number.isNaN(data)),
        Array.from({ length: 150 }, (_each, data) => data + 1),
      )
  })
})
