/** Worker of the verifier of DPoP proofs: posts `ready`, takes lists of proofs, and answers each list with a y or n per proof. */
import { parentPort } from 'node:worker_threads'
import { isSignedBy, ProofKeys, proofHeader } from './proof-keys.ts'

const keys = new ProofKeys()

parentPort?.on('message', (proofs: string) => {
  let results = ''
  for (const proof of proofs.split(' ')) results += isValid(proof) ? 'y' : 'n'
  parentPort?.postMessage(results)
})
parentPort?.postMessage('ready')

/** The header of each was accepted before it was sent here. */
function isValid(proof: string): boolean {
  const header = proofHeader(proof)
  const key = keys.find(header)
  const isGood = isSignedBy(proof, key)
  if (isGood) keys.keep(header, key)
  return isGood
}
