/** What stays open: live queries, streams and event streams of a feed, connections of tools. Each begins again when it has ended. */
import { setTimeout as sleep } from 'node:timers/promises'
import { openEvents } from '../../support/event-client.ts'
import { texts } from '../../support/wire-session.ts'
import { follow } from '../feeds/feed-licences.ts'
import type { Values } from './ledger.ts'
import type { Reader } from './reads.ts'

export interface Following extends Reader {
  readonly isOver: () => boolean
  readonly random: (below: number) => number
  /** Values that came at this moment; what they were asked for at `sent`. */
  readonly came: (way: string, values: Values, sent?: number) => void
}

export type Follow = (following: Following) => Promise<void>

/** After which time of silence a follower looks whether it is over, and begins again. */
const IDLE_MS = 2_000
const PAUSE_MS = 100

export const FOLLOWERS: readonly Follow[] = [followLive, followEvents, followStream]

async function followLive({ place, token, isOver, came }: Following): Promise<void> {
  const live = await place.live('SELECT venue, number FROM latest', token)
  try {
    if (live.status !== 200) return void (await sleep(PAUSE_MS))
    while (!isOver()) {
      const event = await nextOrIdle(live.next())
      if (event === undefined || event.event === 'end') return
      const put = Array.isArray(event.data.Put) ? event.data.Put : []
      came(
        'live',
        put.map(({ Row }) => [String(Row[0] ?? Row.venue), Number(Row[1] ?? Row.number)]),
      )
    }
  } finally {
    live.close()
  }
}

async function followEvents({ place, token, isOver, came }: Following): Promise<void> {
  const stream = await openEvents(`${place.server.url}/feeds/Numbers/*`, { method: 'GET', token })
  try {
    if (stream.status !== 200) return void (await sleep(PAUSE_MS))
    while (!isOver()) {
      const event = await nextOrIdle(stream.next())
      if (event === undefined || event.event === 'end') return
      came('events', readMessage(event.data))
    }
  } finally {
    stream.close()
  }
}

async function followStream({ place, token, isOver, random, came }: Following): Promise<void> {
  const { stream } = await follow(place.server, token)
  try {
    const topic = ['*', 'XA', 'XC'][random(3)]
    const reply = await stream.request({
      ...{ Controller: 'Numbers', Topic: topic, Action: 'Sub', TransactionID: 1, Confirm: true },
      ...(random(2) === 0 ? {} : { Data: { Last: 5 } }),
    })
    if (reply.Action === 'Error') return void (await sleep(PAUSE_MS))
    while (!isOver()) {
      const message = await nextOrIdle(stream.next())
      if (message === undefined || message.Action === 'Error' || message.Action === 'Unsub') return
      came('stream', readMessage(message))
    }
  } finally {
    stream.socket.terminate()
  }
}

function readMessage({ Topic, Data }: Readonly<Record<string, unknown>>): Values {
  return typeof Data === 'number' ? [[String(Topic), Data]] : []
}

/** Undefined after a while of silence. */
async function nextOrIdle<Message>(next: Promise<Message>): Promise<Message | undefined> {
  return Promise.race([next.catch(() => undefined), sleep(IDLE_MS, undefined)])
}

/** A connection of a tool, with a prepared statement, COPY, and a cursor that is read while licences change. */
export async function useTool({ place, token, isOver, random, came }: Following, person: string): Promise<void> {
  const session = await place.wire(token, person)
  try {
    await session.query('PREPARE newest AS SELECT venue, max(id) AS number FROM ticks GROUP BY venue')
    while (!isOver()) {
      await sleep(5 + random(30))
      const sent = Date.now()
      switch (random(3)) {
        case 0: {
          const { copied } = await session.query('COPY latest TO STDOUT')
          const rows = copied
            .toString()
            .split('\n')
            .filter((line) => line !== '')
          came(
            'copy',
            rows.map((line) => line.split('\t')).map(([venue = '', number]) => [venue, Number(number)]),
            sent,
          )
          break
        }
        case 1:
          came('prepared', readRows(await session.query('EXECUTE newest')), sent)
          break
        default:
          await session.query('BEGIN')
          await session.query('DECLARE c CURSOR FOR SELECT venue, id FROM ticks ORDER BY id DESC')
          for (let fetches = 0; fetches < 3; fetches++) {
            const asked = Date.now()
            came('cursor', readRows(await session.query('FETCH 3 FROM c')), asked)
            await sleep(random(700))
          }
          await session.query('COMMIT')
      }
    }
  } finally {
    session.close()
  }
}

function readRows(answer: Parameters<typeof texts>[0]): Values {
  return texts(answer).map(([venue, number]) => [String(venue), Number(number)])
}
