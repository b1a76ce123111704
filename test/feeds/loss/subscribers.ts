/** Subscribers of a loss test: each connects again after every break, resumes after its last position, and keeps what it received. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import type { Nodes } from './nodes.ts'

export interface Wish {
  readonly feed: string
  readonly topic: string
  /** Undefined for a feed without history. */
  readonly resumes: boolean
  readonly maxRate?: number
}

/** The data of a message: its publisher, and its number there. */
interface Numbered {
  readonly p: string
  readonly n: number
}

/** A message of a topic that came after a newer one. */
export interface Older extends Numbered {
  readonly newest: number
  /** Whether the newer one came on an earlier connection. */
  readonly isResent: boolean
}

/** What one subscription has received over all its connections. */
export interface Received {
  readonly wish: Wish
  /** By publisher, in the order of arrival. */
  readonly numbers: Map<string, number[]>
  /** By topic, with the connection on which it came. */
  readonly newest: Map<string, { readonly n: number; readonly connection: number }>
  readonly backwards: Older[]
  isConfirmed: boolean
  position: string | undefined
  resumed: number
  notRecovered: number
}

export interface Subscriber {
  readonly received: readonly Received[]
  connections: number
  readonly closes: Map<number, number>
  run(): Promise<void>
  stop(): void
}

const RETRY_MS = 100
const SILENT_MS = 20_000
/** A client loses its connection now and then, while messages are published. */
const LONGEST_CONNECTION_MS = 20_000

export function subscriber(nodes: Nodes, wishes: readonly Wish[]): Subscriber {
  const received = wishes.map(createReceived)
  let isStopped = false
  let socket: WebSocket | undefined
  const follow = (opened: WebSocket): Promise<number> =>
    new Promise((resolve) => {
      let heard = Date.now()
      // Answers to pings would tell earlier; a node that is killed closes its connections at once.
      const silent = setInterval(() => {
        if (Date.now() - heard > SILENT_MS) opened.terminate()
      }, 1_000)
      const breaking = setTimeout(
        () => {
          if (received.every(canResume)) opened.terminate()
        },
        1_000 + Math.random() * LONGEST_CONNECTION_MS,
      )
      opened.on('open', () => {
        self.connections++
        for (const [index, one] of received.entries()) opened.send(subscribeMessage(one, index + 1))
      })
      opened.on('message', (data: Buffer) => {
        heard = Date.now()
        const message: Message = JSON.parse(data.toString())
        const target = received.find(({ wish }) => covers(wish, message))
        if (message.Action === 'Error') {
          // The server could not read what was missed, or has no connection to its database: like any client, come back.
          if (!/^(Fault|Operation|Limited)/.test(String(message.Data)))
            nodes.faults.push(`a subscription was refused: ${data}`)
          opened.close()
        } else if (message.Confirm === true) confirm(received[Number(message.TransactionID) - 1])
        else if (message.Action === 'Publish' && target !== undefined) take(target, message, self.connections)
      })
      opened.on('error', () => {})
      opened.on('close', (code) => {
        clearInterval(silent)
        clearTimeout(breaking)
        resolve(code)
      })
    })
  const self: Subscriber = {
    received,
    connections: 0,
    closes: new Map(),
    stop() {
      isStopped = true
      socket?.terminate()
    },
    async run() {
      while (!isStopped) {
        socket = nodes.socket()
        const code = await follow(socket)
        self.closes.set(code, (self.closes.get(code) ?? 0) + 1)
        await sleep(RETRY_MS * (1 + Math.random()))
      }
    },
  }
  return self
}

interface Message {
  readonly Controller?: string
  readonly Topic?: string
  readonly Action?: string
  readonly Data?: unknown
  readonly Position?: string
  readonly Recovered?: boolean
  readonly Confirm?: boolean
  readonly TransactionID?: number
}

/** A position is known from the first message on. */
export function canResume({ wish, position, newest }: Received): boolean {
  return wish.resumes ? position !== undefined : newest.size > 0
}

function confirm(received: Received | undefined): void {
  if (received !== undefined) received.isConfirmed = true
}

function createReceived(wish: Wish): Received {
  return {
    ...{ wish, numbers: new Map(), newest: new Map(), backwards: [], isConfirmed: false },
    ...{ position: undefined, resumed: 0, notRecovered: 0 },
  }
}

function subscribeMessage({ wish, position }: Received, id: number): string {
  const Data = {
    ...(position === undefined ? {} : { Resume: position }),
    ...(wish.maxRate === undefined ? {} : { MaxRate: wish.maxRate }),
  }
  const message = { Controller: wish.feed, Topic: wish.topic, Action: 'Sub', TransactionID: id, Confirm: true }
  return JSON.stringify(Object.keys(Data).length === 0 ? message : { ...message, Data })
}

export function covers({ feed, topic }: Wish, { Controller, Topic = '' }: Message): boolean {
  return Controller === feed && (topic === Topic || (topic.endsWith('*') && Topic.startsWith(topic.slice(0, -1))))
}

function take(received: Received, { Topic = '', Data, Position, Recovered }: Message, connection: number): void {
  if (received.wish.resumes) received.position = Position ?? received.position
  if (Recovered === true) received.resumed++
  if (Recovered === false) received.notRecovered++
  if (!isNumbered(Data)) return
  const { p, n } = Data
  const numbers = received.numbers.get(p)
  if (numbers === undefined) received.numbers.set(p, [n])
  else numbers.push(n)
  const newest = received.newest.get(Topic)
  if (newest !== undefined && n < newest.n)
    received.backwards.push({ p, n, newest: newest.n, isResent: newest.connection !== connection })
  else received.newest.set(Topic, { n, connection })
}

function isNumbered(data: unknown): data is Numbered {
  return typeof data === 'object' && data !== null && 'p' in data && 'n' in data
}
