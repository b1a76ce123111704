/** The `Auth` controller: authenticates the connection. */
import { type Controller, members, textMember } from '../topics/controller.ts'
import { topicKey } from '../topics/hub.ts'

/** The topic on which a connection is notified of each change of its authority. */
export const IDENTIFY = { controller: 'Auth', topic: 'Identify', key: topicKey('Auth', 'Identify') } as const

export const authController: Controller = {
  name: 'Auth',
  summary: 'Authenticates the connection with an access token and shows its authority.',
  topics: {
    AuthToken: {
      summary: 'Takes on the authority of an access token. Also renews it, before or shortly after it expires.',
      needs: 'nothing',
      publish(call) {
        const fields = members(call.data)
        const provider = textMember(fields, 'Provider')
        const accessToken = readAccessToken(textMember(fields, 'AccessToken'))
        const proof = isDpop(provider) ? textMember(fields, 'Proof') : undefined
        return call.caller.signIn({ provider, accessToken, proof }, call)
      },
      replyTopic: ({ caller }) => caller.profile.signInReplyTopic,
    },
    QueryNonce: {
      summary: 'Replies with the nonce that the proof of the next AuthToken with the provider DPoP needs.',
      needs: 'nothing',
      publish: ({ caller }) => ({ Nonce: caller.nonce }),
    },
    QueryIdentify: {
      summary: 'Replies with the current authority.',
      needs: 'nothing',
      publish: ({ caller }) => caller.identify(),
    },
    Identify: {
      summary: 'Pushes the authority now and whenever it is renewed, about to expire, expired, revoked or reduced.',
      needs: 'nothing',
      subscription: { slow: 'latest', snapshot: ({ caller }) => caller.identify() },
    },
  },
}

/** The scheme of an Authorization header and the Provider of AuthToken share their names; both are case-insensitive. */
export function isBearer(provider: string): boolean {
  return provider.toLowerCase() === 'bearer'
}

/** RFC 9449: the token is bound to a key, and comes with a proof of possession of that key. */
export function isDpop(provider: string): boolean {
  return provider.toLowerCase() === 'dpop'
}

/** The length is checked separately: without groups the expression takes a single pass over a long text. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Decodes valid Base64; any other text is the token itself. A JWT contains dots, so it is never valid Base64. */
export function readAccessToken(text: string): string {
  return text.length % 4 === 0 && BASE64.test(text) ? Buffer.from(text, 'base64').toString() : text
}
