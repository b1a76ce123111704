/** Worker of the verifier: posts `ready`, takes a public key, then lists of tokens, and answers each list with a y or n per token. */
import { KeyObject, verify } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { splitJws } from './jwt.ts'

let key: KeyObject | undefined

parentPort?.on('message', (message: unknown) => {
  if (message instanceof KeyObject) key = message
  else parentPort?.postMessage(verifyAll(String(message)))
})
parentPort?.postMessage('ready')

function verifyAll(tokens: string): string {
  let results = ''
  for (const token of tokens.split(' ')) results += isValid(token) ? 'y' : 'n'
  return results
}

function isValid(token: string): boolean {
  const { input, signature } = splitJws(token)
  return key !== undefined && verify('sha256', input, key, signature)
}
