/** The thread of a verifier: says that it is ready, takes a public key, then lines of tokens, and answers each with a letter for each token. */
import { KeyObject, verify } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { partsOf } from './jwt.ts'

let key: KeyObject | undefined

parentPort?.on('message', (message: unknown) => {
  if (message instanceof KeyObject) key = message
  else parentPort?.postMessage(verdictsOn(String(message)))
})
parentPort?.postMessage('ready')

function verdictsOn(tokens: string): string {
  let verdicts = ''
  for (const token of tokens.split(' ')) verdicts += isGood(token) ? 'y' : 'n'
  return verdicts
}

function isGood(token: string): boolean {
  const { signed, signature } = partsOf(token)
  return key !== undefined && verify('sha256', signed, key, signature)
}
