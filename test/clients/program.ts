/** A client of `profile: fapi2` in another language: a program that signs in, while the test is the user. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { ALGS, type Alg, openFapi2, plainId, privateJwk, SCOPE, signingId } from './fapi2.ts'
import { CALLBACK, followAsAlice, type OpenGatehouse } from './gatehouse.ts'

export interface RunResult {
  readonly subject: string
  /** How many requests were answered with `use_dpop_nonce`. */
  readonly noncesDemanded: number
  /** The error of a token with a proof by another key. */
  readonly refused: string
}

export interface ClientProgram {
  /** From discovery to the revocation of a refreshed token; with `isSigned`, by JAR and JARM. */
  run(gatehouse: OpenGatehouse, alg: Alg, isSigned: boolean): Promise<RunResult>
  stop(): Promise<void>
}

const SERVERS = [
  { name: 'without nonces', dpopNonce: 'public', ahead: 0, noncesDemanded: 0 },
  // PAR, code, query, userinfo, refresh and the second query: each asks for one.
  { name: 'with nonces', dpopNonce: 'all', ahead: 0, noncesDemanded: 6 },
  { name: 'with a clock that is ten seconds ahead', dpopNonce: 'public', ahead: -10_000, noncesDemanded: 0 },
] as const

/** Runs the program with both algorithms, with plain and with signed messages. */
export function testProgram(name: string, skip: string | false, start: () => Promise<ClientProgram>): void {
  describe(name, { skip }, () => {
    let program: ClientProgram
    before(async () => {
      program = await start()
    })
    after(() => program.stop())

    for (const { name, dpopNonce, ahead, noncesDemanded } of SERVERS)
      describe(name, () => {
        let gatehouse: OpenGatehouse
        before(async () => {
          gatehouse = await openFapi2(dpopNonce, ahead)
        })
        after(() => gatehouse.close())

        for (const alg of ALGS)
          for (const isSigned of [false, true])
            test(`${alg}, ${isSigned ? 'JAR and JARM' : 'plain messages'}: PAR, code flow, query, userinfo, refresh by another key, introspection as a JWT, revocation`, async () => {
              const result = await program.run(gatehouse, alg, isSigned)
              assert.ok(result.subject.length > 0)
              assert.equal(result.noncesDemanded, noncesDemanded)
              assert.equal(result.refused, 'invalid_dpop_proof')
            })
      })
  })
}

/** The program reads what to do as a line of JSON, prints `open URL`, reads where the browser ended, and prints the result as JSON. */
export function startProgram(command: string, args: readonly string[], cwd: string): ClientProgram {
  const child = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  const errors = text(child.stderr)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  // A program that has ended is noticed by what it no longer prints.
  child.stdin.on('error', () => {})
  const write = (line: string) => child.stdin.write(`${line}\n`)
  async function read(): Promise<string> {
    const { done, value } = await lines.next()
    if (done === true) throw new Error(`The program ended: ${await errors}`)
    return value
  }
  return {
    async run(gatehouse, alg, isSigned) {
      const clientId = isSigned ? signingId(alg) : plainId(alg)
      const { issuer } = gatehouse
      write(JSON.stringify({ issuer, clientId, alg, isSigned, scope: SCOPE, redirect: CALLBACK, key: privateJwk(alg) }))
      const [word, address = ''] = (await read()).split(' ')
      if (word !== 'open') throw new Error(`The program printed ${word}`)
      write((await followAsAlice(gatehouse, new URL(address))).url.href)
      return JSON.parse(await read()) as RunResult
    },
    async stop() {
      child.stdin.end()
      await ended
    },
  }
}
