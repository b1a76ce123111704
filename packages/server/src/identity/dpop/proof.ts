/** A DPoP proof (RFC 9449 §4.2), and the checks of its claims (§4.3) that need neither its signature nor a memory of others. */
import { hash } from 'node:crypto'
import { parseObject } from '../tokens/jwt.ts'
import { ProofFault } from './proof-fault.ts'
import { type ProofKey, type ProofKeys, proofHeader } from './proof-keys.ts'

export interface Proof {
  readonly text: string
  readonly header: string
  readonly key: ProofKey
  readonly id: string
  /** Seconds since the epoch. */
  readonly issuedAt: number
  readonly nonce: string | undefined
}

/** The request that a proof must be for. */
export interface ProvenRequest {
  readonly method: string
  /** Whether an address, as the proof names it, is that of the request. */
  readonly isAddress: (address: string) => boolean
  readonly accessToken?: string | undefined
  /** The thumbprint of the key that the token is bound to. */
  readonly boundKey?: string | undefined
}

const LONGEST = 4096
const LONGEST_ID = 256
const SHAPE = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Throws ProofFault. The signature is not verified yet. */
export function readProof(text: string | undefined, request: ProvenRequest, keys: ProofKeys): Proof {
  if (text === undefined || text === '') throw new ProofFault('it is missing')
  if (text.includes(',')) throw new ProofFault('there is more than one')
  if (text.length > LONGEST) throw new ProofFault(`it is longer than ${LONGEST} characters`)
  if (!SHAPE.test(text)) throw new ProofFault('it is not a JWT')
  const header = proofHeader(text)
  const key = keys.find(header, request.boundKey)
  const claims = parseObject(text.slice(header.length + 1, text.lastIndexOf('.')))
  if (claims === undefined) throw new ProofFault('it is not a JWT')
  const { jti, htm, htu, iat, ath, nonce } = claims
  if (typeof jti !== 'string' || jti === '') throw new ProofFault('jti is missing')
  if (jti.length > LONGEST_ID) throw new ProofFault(`jti is longer than ${LONGEST_ID} characters`)
  if (htm !== request.method) throw new ProofFault('htm is not the method of the request')
  if (typeof htu !== 'string' || !request.isAddress(htu)) throw new ProofFault('htu is not the address of the request')
  if (typeof iat !== 'number' || !Number.isFinite(iat)) throw new ProofFault('iat is missing')
  if (request.accessToken !== undefined && ath !== hash('sha256', request.accessToken, 'base64url'))
    throw new ProofFault('ath is not the hash of the access token')
  if (nonce !== undefined && typeof nonce !== 'string') throw new ProofFault('nonce is not a text')
  return { text, header, key, id: jti, issuedAt: iat, nonce }
}
