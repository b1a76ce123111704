/** Worker of the verifier: posts `ready`, takes a public key, then lists of tokens, and answers each list with a y or n per token. */
import { parentPort } from 'node:worker_threads'
import { isSigned } from '../../lib/signature-algs.ts'
import { splitJws } from './jwt.ts'
import type { VerificationKey } from './verifier.ts'

let key: VerificationKey | undefined

parentPort?.on('message', (message: string | VerificationKey) => {
  if (typeof message === 'string') parentPort?.postMessage(verifyAll(message))
  else key = message
})
parentPort?.postMessage('ready')

function verifyAll(tokens: string): string {
  let results = ''
  for (const token of tokens.split(' ')) results += isValid(token) ? 'y' : 'n'
  return results
}

function isValid(token: string): boolean {
  const { input, signature } = splitJws(token)
  return key !== undefined && isSigned(key.alg, key.key, input, signature)
}
