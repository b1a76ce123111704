/** A client of `profile: fapi2` in another language: a program that signs in, while the test is the user. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { type Alg, plainId, privateJwk, SCOPE, signingId } from './fapi2.ts'
import { CALLBACK, followAsAlice, type OpenGatehouse } from './gatehouse.ts'

export interface RunResult {
  readonly subject: string
  /** How many requests were answered with `use_dpop_nonce`. */
  readonly noncesDemanded: number
  /** The error of a token with a proof by another key. */
  readonly refused: string
}

export interface ClientProgram {
  /** From discovery to the introspection of a refreshed token; with `isSigned`, by JAR and JARM. */
  run(gatehouse: OpenGatehouse, alg: Alg, isSigned: boolean): Promise<RunResult>
  stop(): Promise<void>
}

/** The program reads what to do as a line of JSON, prints `open URL`, reads where the browser ended, and prints the result as JSON. */
export function startProgram(command: string, args: readonly string[], cwd: string): ClientProgram {
  const child = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  const errors = text(child.stderr)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
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
