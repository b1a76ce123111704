/** Signature checks on the event loop and in the worker thread. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createVerifier,
  type Verifier,
  type VerifierOptions,
} from '../../packages/server/src/identity/tokens/verifier.ts'

const ours = generateKeyPairSync('rsa', { modulusLength: 2048 })
const successor = generateKeyPairSync('rsa', { modulusLength: 2048 })
const GOOD_KEY = { alg: 'RS256', key: ours.publicKey } as const
const OTHER_KEY = { alg: 'RS256', key: successor.publicKey } as const
const THREAD = new URL('../../packages/server/src/identity/tokens/verifier-thread.ts', import.meta.url).href

/** Refuses every token, so that a test can tell its results from those of the event loop. */
const REFUSES = program(
  `port.on('message', (m) => typeof m === 'string' && port.postMessage(m.replace(/[^ ]+ ?/g, 'n')))`,
)
const IS_SILENT = program(`port.on('message', () => {})`)
const BREAKS = program(`port.on('message', (m) => { if (typeof m === 'string') throw new Error('broken') })`)

test('every check of a batch gets its own result, under its own key', async (t) => {
  const channel = new BroadcastChannel('verifier-test')
  let lines = 0
  channel.onmessage = () => lines++
  const reports = `const tell = new BroadcastChannel('verifier-test'); tell.unref()
    port.on('message', (m) => typeof m === 'string' && tell.postMessage(''))`
  const verifier = open(t, { program: program(`${reports}; await import(${JSON.stringify(THREAD)})`, false) })
  const checks = Array.from({ length: 100 }, (_, at) => {
    const signer = at % 3 === 0 ? successor : ours
    const token = requestToken(signer.privateKey, at)
    const isForged = at % 7 === 0
    const publicKey = at % 5 === 0 ? ours.publicKey : signer.publicKey
    const key = publicKey === ours.publicKey ? GOOD_KEY : OTHER_KEY
    return { token: isForged ? forged(token) : token, key, expected: !isForged && publicKey === signer.publicKey }
  })
  while (lines < 20) {
    const results = await Promise.all(checks.map(({ token, key }) => verifier.verify(token, key)))
    assert.deepEqual(
      results,
      checks.map(({ expected }) => expected),
    )
  }
  channel.close()
})

test('few checks are done on the event loop, also while there is a worker', async (t) => {
  const verifier = open(t, { program: REFUSES })
  await untilThreadAnswers(verifier)
  assert.deepEqual(await checkAtOnce(verifier, 3), [true, true, true])
  assert.deepEqual(await checkAtOnce(verifier, 4), [false, false, false, false])
})

test('no worker is started for few checks', async (t) => {
  const verifier = open(t, { program: REFUSES })
  for (let turn = 0; turn < 50; turn++) assert.deepEqual(await checkAtOnce(verifier, 3), [true, true, true])
  assert.deepEqual(await checkAtOnce(verifier, 16), Array(16).fill(true), 'the worker is still starting')
})

test('when the worker crashes, the event loop takes over, and the error is reported', async (t) => {
  const errors: unknown[] = []
  const verifier = open(t, { program: BREAKS, onError: (error) => errors.push(error) })
  const deadline = performance.now() + 20_000
  while (errors.length === 0 && performance.now() < deadline) {
    assert.deepEqual(await checkAtOnce(verifier, 40), Array(40).fill(true))
  }
  assert.match(String(errors[0]), /broken/)
  for (let turn = 0; turn < 20; turn++) assert.ok((await checkAtOnce(verifier, 40)).every(Boolean))
  assert.equal(errors.length, 1)
})

test('the event loop does the checks beyond maxPending, and what the worker has not answered when it is closed', async (t) => {
  const verifier = open(t, { program: IS_SILENT, maxPending: 10 })
  const answered: boolean[] = []
  const unanswered: Promise<unknown>[] = []
  const deadline = performance.now() + 20_000
  while (unanswered.length === answered.length && performance.now() < deadline) {
    for (let at = 0; at < 8; at++) unanswered.push(check(verifier).then((isGood) => answered.push(isGood)))
    await sleep(50)
  }
  assert.equal(unanswered.length - answered.length, 8)
  assert.deepEqual(await checkAtOnce(verifier, 8), Array(8).fill(true), 'eight more would be 16 pending')
  await verifier.close()
  await Promise.all(unanswered)
  assert.ok(answered.every(Boolean))
})

test('an idle worker ends, and the next batch starts another', async (t) => {
  const verifier = open(t, { program: REFUSES, idleMs: 1000 })
  await untilThreadAnswers(verifier)
  await sleep(1500)
  assert.deepEqual(await checkAtOnce(verifier, 8), Array(8).fill(true))
  await untilThreadAnswers(verifier)
})

function open(t: { after(end: () => Promise<void>): void }, options: Partial<VerifierOptions>): Verifier {
  const verifier = createVerifier({
    onError: (error) => {
      throw error
    },
    workerThreshold: 4,
    ...options,
  })
  t.after(() => verifier.close())
  return verifier
}

function program(text: string, postsReady = true): URL {
  const source = `import { parentPort as port } from 'node:worker_threads'
    ${text}
    ${postsReady ? `port.postMessage('ready')` : ''}`
  return new URL(`data:text/javascript,${encodeURIComponent(source)}`)
}

async function untilThreadAnswers(verifier: Verifier): Promise<void> {
  const deadline = performance.now() + 20_000
  while ((await checkAtOnce(verifier, 8)).includes(true)) {
    assert.ok(performance.now() < deadline, 'the worker never answered')
    await sleep(10)
  }
}

function checkAtOnce(verifier: Verifier, count: number): Promise<boolean[]> {
  return Promise.all(Array.from({ length: count }, () => check(verifier)))
}

const good = requestToken(ours.privateKey, 0)

function check(verifier: Verifier): Promise<boolean> {
  return verifier.verify(good, GOOD_KEY)
}

function requestToken(key: KeyObject, serial: number): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${encode({ alg: 'RS256' })}.${encode({ serial })}`
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`
}

/** Another signature of the right length. */
function forged(token: string): string {
  const [head, body, signature = ''] = token.split('.')
  return `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
}
