/** The `Auth` controller: who the connection acts for. */
import { type Controller, members, textMember } from '../controller.ts'

export const authController: Controller = {
  name: 'Auth',
  summary: 'Signs the connection in with an access token and tells what it may do.',
  topics: {
    AuthToken: {
      summary: 'Takes on the authority of an access token; also renews it, before or shortly after it expires.',
      needs: 'nothing',
      publish({ caller, data, signal }) {
        const wanted = members(data)
        const provider = textMember(wanted, 'Provider')
        const accessToken = readAccessToken(textMember(wanted, 'AccessToken'))
        return caller.signIn(provider, accessToken, signal)
      },
      replyTopic: ({ caller }) => caller.profile.signInReplyTopic,
    },
    QueryIdentify: {
      summary: 'Answers with the authority in force.',
      needs: 'nothing',
      publish: ({ caller }) => caller.identify(),
    },
    Identify: {
      summary:
        'Pushes the authority now and whenever it changes: renewed, about to expire, expired, revoked, narrowed.',
      needs: 'nothing',
      subscription: { slow: 'latest', snapshot: ({ caller }) => caller.identify() },
    },
  },
}

/** Together with a length of whole groups; without groups in the expression a long text takes one pass. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** What decodes as Base-64 is decoded, anything else is the token itself; a JWT has dots, so it is never Base-64. */
export function readAccessToken(text: string): string {
  return text.length % 4 === 0 && BASE64.test(text) ? Buffer.from(text, 'base64').toString() : text
}
