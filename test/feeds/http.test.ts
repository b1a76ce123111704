/** Feeds over HTTP: publishing, CloudEvents, idempotency, reading, server-sent events and refusals. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { type FeedServer, startFeedServer } from './feed-server.ts'

onEveryEngineInLongRuns('feeds over HTTP', (place) => {
  let server: FeedServer
  before(async () => {
    server = await startFeedServer(place(), {
      flags: {
        '--feed-publisher-rate': '1000',
        '--feed-publisher-keys': '30',
        '--stream-max-connections-per-user': '4',
      },
    })
  })
  after(() => server.stop())

  const read = async (path: string, token?: string): Promise<Record<string, unknown>> => {
    const reply = await server.send('GET', path, token === undefined ? {} : { token })
    return (await reply.json()) as Record<string, unknown>
  }
  const readCode = async (reply: Promise<Response>) => {
    const received = await reply
    const body = (await received.json()) as Record<string, unknown>
    return [received.status, body.Code, received.headers.get('retry-after')]
  }

  test('any JSON value is a message, and is read back as it was written', async () => {
    for (const [index, data] of ['1', '"text"', 'null', '[1.0,2]', '{"a":1e400}', 'false'].entries()) {
      const reply = await server.send('POST', `/feeds/Prices/value/${index}`, { body: data })
      assert.deepEqual([reply.status, await reply.json()], [200, { Published: 1 }])
      const text = await (await server.send('GET', `/feeds/Prices/value%2F${index}`)).text()
      assert.ok(text.endsWith(`"Data":${data}}`), text)
    }
  })

  test('many messages come as an array or as lines, and are published all or none', async () => {
    const messages = Array.from({ length: 3 }, (_each, index) => ({ Topic: `many/${index}`, Data: index }))
    assert.deepEqual((await server.publish('/feeds/Orders', messages)).body.Published, 3)
    const lines = messages.map((message) => JSON.stringify(message)).join('\n')
    const ndjson = { 'content-type': 'application/x-ndjson' }
    const reply = await server.send('POST', '/feeds/Orders', { body: `${lines}\n\n`, headers: ndjson })
    assert.equal(reply.status, 200)
    const history = await read('/feeds/Orders/many/1?last=10')
    assert.deepEqual(
      (history.Messages as { Data: number }[]).map(({ Data }) => Data),
      [1, 1],
    )
    for (const [body, detail] of [
      [[...messages, { Topic: 'bad*', Data: 1 }], /bad\*/],
      [[...messages, { Data: 1 }], /Message 4 has no "Topic"/],
      [[...messages, { Topic: 'x' }], /Message 4 has no "Data"/],
      [[...messages, { Topic: 'x', Data: 'y'.repeat(70_000) }], /at most 65536 bytes/],
      [[], /no messages/],
      ['{"Topic":"x","Data":1}', /array/],
      ['[{"Topic":"x","Data":1}', /not JSON/],
    ] as const) {
      const refused = await server.send('POST', '/feeds/Orders', { body })
      const problem = (await refused.json()) as Record<string, unknown>
      assert.match(String(problem.detail), detail)
    }
    assert.equal(((await read('/feeds/Orders/many/1?last=10')) as { Messages: unknown[] }).Messages.length, 2)
  })

  test('members in another order, escaped or twice are read as JSON says', async () => {
    const body =
      '[{"Data":1.50,"Topic":"order/a"},{"\\u0054opic":"order/b","D\\u0061ta":[2]},{"Topic":"order/c","Data":1,"Data":3,"More":4}]'
    assert.equal((await server.send('POST', '/feeds/Prices', { body })).status, 200)
    for (const [topic, data] of [
      ['a', '1.50'],
      ['b', '[2]'],
      ['c', '3'],
    ])
      assert.ok((await (await server.send('GET', `/feeds/Prices/order/${topic}`)).text()).endsWith(`"Data":${data}}`))
  })

  test('CloudEvents 1.0, JSON format §3.1: subject is the topic, data the Data, id and source the idempotency key', async () => {
    const type = { 'content-type': 'application/cloudevents+json; charset=utf-8' }
    const event = {
      specversion: '1.0',
      id: '7',
      source: '/oms',
      type: 'order.filled',
      subject: 'event/1',
      data: { qty: 5 },
    }
    const body = JSON.stringify(event)
    const first = await server.send('POST', '/feeds/Orders', { body, headers: type })
    const again = await server.send('POST', '/feeds/Orders', { body, headers: type })
    assert.deepEqual([first.status, await first.json()], [200, await again.json()])
    const later = { body: { ...event, time: '2030-01-01T00:00:00Z' }, headers: type }
    assert.equal((await server.send('POST', '/feeds/Orders', later)).status, 200)
    const other = { body: { ...event, data: { qty: 6 } }, headers: type }
    assert.equal((await server.send('POST', '/feeds/Orders', other)).status, 422)
    assert.equal(((await read('/feeds/Orders/event/1?last=10')) as { Messages: unknown[] }).Messages.length, 1)
    for (const missing of ['specversion', 'id', 'source', 'type', 'subject']) {
      const reply = await server.send('POST', '/feeds/Orders', {
        body: { ...event, [missing]: undefined },
        headers: type,
      })
      const problem = (await reply.json()) as Record<string, unknown>
      assert.match(String(problem.detail), new RegExp(`"${missing}"`))
    }
  })

  test('an Idempotency-Key publishes once and gets the same reply; another body is refused', async () => {
    const key = { 'idempotency-key': 'k-1' }
    const first = await server.publish('/feeds/Orders/once', 1, key)
    await server.publish('/feeds/Orders/once', 2)
    assert.deepEqual(await server.publish('/feeds/Orders/once', 1, key), first)
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => server.publish('/feeds/Orders/once', 3, { 'idempotency-key': 'k-2' })),
    )
    assert.equal(new Set(replies.map(({ body }) => body.Position)).size, 1)
    const history = (await read('/feeds/Orders/once?last=100')) as { Messages: { Data: number }[] }
    assert.deepEqual(
      history.Messages.map(({ Data }) => Data),
      [1, 2, 3],
    )
    assert.deepEqual(await readCode(server.send('POST', '/feeds/Orders/once', { body: '4', headers: key })), [
      422,
      'feed.key_used',
      null,
    ])
    assert.equal((await server.publish('/feeds/Orders/once', 1, { 'idempotency-key': 'ä' })).status, 400)
  })

  test('a publisher has a bounded number of keys for a feed', async () => {
    const publish = (key: string, feed = 'Orders') =>
      server.send('POST', `/feeds/${feed}/keys`, {
        token: server.admin,
        body: '1',
        headers: { 'idempotency-key': key },
      })
    for (let each = 0; each < 30; each++) assert.equal((await publish(`bounded-${each}`)).status, 200)
    const [status, code, seconds] = await readCode(publish('bounded-30'))
    assert.deepEqual([status, code, Number(seconds) > 60], [429, 'feed.too_many_keys', true])
    assert.equal((await publish('bounded-30', 'Quotes')).status, 200, 'of another feed')
    assert.equal((await server.send('POST', '/feeds/Orders/keys', { token: server.admin, body: '1' })).status, 200)
  })

  test('a DELETE that is repeated with its key gets the same reply, without one 404', async () => {
    await server.publish('/feeds/Prices/gone', 1)
    const remove = async (key?: string, topic = 'gone'): Promise<number> => {
      const headers = key === undefined ? {} : { 'idempotency-key': key }
      return (await server.send('DELETE', `/feeds/Prices/${topic}`, { headers })).status
    }
    assert.deepEqual([await remove('delete-1'), await remove('delete-1')], [204, 204])
    assert.deepEqual([await remove(), await remove('delete-2')], [404, 404])
    assert.equal(await remove('delete-1', 'another'), 422)
    await server.publish('/feeds/Prices/gone', 2)
    assert.equal(await remove('delete-1'), 204)
    assert.equal((await read('/feeds/Prices/gone')).Data, 2, 'it was removed before')
  })

  test('what is refused says why', async () => {
    const noRight = { token: (await signIn(server, ADMIN)).access_token }
    for (const [method, path, options, expected] of [
      ['POST', '/feeds/Missing/a', { body: '1' }, [404, 'feed.unknown', null]],
      ['POST', '/feeds/Secret/a', { body: '1' }, [404, 'feed.unknown', null]],
      ['GET', '/feeds/Secret', {}, [404, 'feed.unknown', null]],
      ['POST', '/feeds/Secret/a', { body: '{', ...noRight }, [400, 'feed.bad_message', null]],
      ['POST', `/feeds/Prices/${'x'.repeat(257)}`, { body: '1' }, [400, 'feed.bad_topic', null]],
      ['POST', '/feeds/Prices/a%00', { body: '1' }, [400, 'feed.bad_topic', null]],
      ['POST', '/feeds/Prices/Configure', { body: '1' }, [400, 'feed.bad_topic', null]],
      ['POST', '/feeds/Prices/a', { body: `"${'y'.repeat(66_000)}"` }, [413, 'feed.message_too_large', null]],
      [
        'POST',
        '/feeds/Prices/a',
        { body: '1', headers: { 'content-type': 'text/plain' } },
        [415, 'http.unsupported_media_type', null],
      ],
      ['DELETE', '/feeds/Prices/never', {}, [404, 'feed.no_topic', null]],
      ['GET', '/feeds/Prices/never', {}, [404, 'feed.no_topic', null]],
      ['GET', '/feeds/Prices/a?last=1', {}, [400, 'feed.no_last', null]],
      ['GET', '/feeds/Orders/a?last=1001', {}, [400, 'feed.bad_parameter', null]],
    ] as const)
      assert.deepEqual(await readCode(server.send(method, path, options)), expected, `${method} ${path}`)
  })

  test('topics are listed by prefix and page by page', async () => {
    for (const name of ['list/b', 'list/a', 'list/a/1', 'lists']) await server.publish(`/feeds/Quotes/${name}`, 1)
    const page = await read('/feeds/Quotes?prefix=list/&limit=2')
    assert.deepEqual(
      [(page.items as { Topic: string }[]).map(({ Topic }) => Topic), page.next],
      [['list/a', 'list/a/1'], 'list/a/1'],
    )
    const rest = await read('/feeds/Quotes?prefix=list/&limit=2&after=list/a/1')
    assert.deepEqual(
      [(rest.items as { Topic: string }[]).map(({ Topic }) => Topic), rest.next],
      [['list/b'], undefined],
    )
    const names = ((await read('/feeds')).items as { Name: string }[]).map(({ Name }) => Name)
    assert.deepEqual(names.toSorted(), ['News', 'Orders', 'Prices', 'Quotes'])
  })

  test('events carry the state, then messages with their positions, and resume by Last-Event-ID', async () => {
    await server.publish('/feeds/Quotes/events', { last: 1 })
    const events = await server.events('/feeds/Quotes/events')
    const first = await events.next()
    assert.deepEqual([first.event, first.data], ['message', { Topic: 'events', Data: { last: 1 } }])
    await server.publish('/feeds/Quotes/events', { last: 2 })
    const second = await events.next()
    assert.deepEqual(second.data, { Topic: 'events', Data: { last: 2 } })
    events.close()
    await server.publish('/feeds/Quotes/events', { last: 3 })
    const resumed = await server.events('/feeds/Quotes/events', { 'last-event-id': String(second.id) })
    assert.deepEqual((await resumed.next()).data, { Topic: 'events', Recovered: true, Data: { last: 3 } })
    resumed.close()
    const quiet = await server.events('/feeds/Quotes/events', { 'last-event-id': 'nonsense' })
    assert.equal(quiet.status, 400)
    const limited = await server.events('/feeds/Prices/*?maxrate=2')
    assert.equal(limited.status, 200)
    limited.close()
  })

  test('events without an event yet have an id, from which they are resumed', async () => {
    await server.publish('/feeds/Orders/calm', 1)
    const reply = await server.send('GET', '/feeds/Orders/calm', { headers: { accept: 'text/event-stream' } })
    const reader = reply.body?.getReader()
    const { value } = (await reader?.read()) ?? {}
    const id = /^: \nid: (\S+)\n\n$/.exec(new TextDecoder().decode(value))?.[1] ?? ''
    await reader?.cancel()
    await server.publish('/feeds/Orders/calm', 2)
    const resumed = await server.events('/feeds/Orders/calm', { 'last-event-id': id })
    assert.deepEqual((await resumed.next()).data, { Topic: 'calm', Recovered: true, Data: 2 })
    resumed.close()
  })

  test('one caller has a bounded number of event streams', async () => {
    const streams = []
    for (let each = 0; each < 4; each++) streams.push(await server.events(`/feeds/Prices/bounded/${each}`))
    const refused = await server.events('/feeds/Prices/bounded/more')
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '5'])
    streams.pop()?.close()
    await until('there is room again', 5000, async () => {
      const events = await server.events('/feeds/Prices/bounded/more')
      streams.push(events)
      return events.status === 200
    })
    for (const events of streams) events.close()
  })

  test('events end when the token is revoked', async () => {
    const { access_token: token } = await signIn(server)
    const events = await server.events('/feeds/Prices/revoked', { authorization: `Bearer ${token}` })
    await fetch(`http://127.0.0.1:${server.port}/connect/revocation`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'demo-cli', token }),
    })
    const rest = await events.ended()
    assert.equal(rest.at(-1)?.event, 'end')
    assert.equal(rest.at(-1)?.data.Code, 'access.invalid_token')
  })

  test('a publisher that is too fast is told when to come back; the longest request has 10,000 messages', async () => {
    const batch = Array.from({ length: 10_000 }, (_each, index) => ({ Topic: 'fast', Data: index }))
    assert.equal((await server.publish('/feeds/News', batch)).status, 200)
    const [status, code, seconds] = await readCode(server.send('POST', '/feeds/News', { body: batch }))
    assert.deepEqual([status, code, Number(seconds) >= 1], [429, 'feed.publisher_too_fast', true])
    const reply = await server.send('POST', '/feeds/News', { body: [...batch, { Topic: 'fast', Data: 0 }] })
    assert.match(String(((await reply.json()) as Record<string, unknown>).detail), /at most 10000 messages/)
  })
})
