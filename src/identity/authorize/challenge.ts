/** RFC 7636 §4.3: the challenge that the code will be bound to. */
import type { ChallengeMethod, ResponseType } from '../../store/client-metadata.ts'
import { isChallenge } from '../grants/pkce.ts'
import { refuse } from './refuse.ts'
import { type Ask, gives } from './request.ts'

export function readChallenge(
  { parameters, client }: Ask,
  responseType: ResponseType,
): { method: ChallengeMethod; value: string } | undefined {
  const value = parameters.get('code_challenge')
  const method = parameters.get('code_challenge_method') ?? 'plain'
  if (value === undefined) {
    if (parameters.get('code_challenge_method') !== undefined)
      throw refuse('invalid_request', 'code_challenge_method came without code_challenge')
    if (client.requirePkce && gives(responseType, 'code'))
      throw refuse('invalid_request', 'code_challenge is needed for this client')
    return undefined
  }
  if (method !== 'plain' && method !== 'S256')
    throw refuse('invalid_request', 'code_challenge_method is neither S256 nor plain')
  if (!client.challengeMethods.has(method))
    throw refuse(
      'invalid_request',
      `This client must use code_challenge_method ${[...client.challengeMethods].join(' or ')}`,
    )
  if (!isChallenge(value)) throw refuse('invalid_request', 'code_challenge must be 43 to 128 unreserved characters')
  return { method, value }
}
