/** How the requests and tokens of an application are protected: bound to a key, pushed, signed, by the FAPI 2.0 Security Profile. */
import {
  Checkbox,
  demandedNumber,
  demandText,
  readDemand,
  type SignInDemand,
  SignInDemandFields,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { Application, KindInfo } from './kinds.ts'

export interface Protection {
  readonly isFapi: boolean
  readonly isBound: boolean
  readonly isPushed: boolean
  readonly isSigned: boolean
  /** Of the users who sign in to it. */
  readonly signIn: SignInDemand
}

export function readProtection(client: Application): Protection {
  return {
    isFapi: client.profile === 'fapi2',
    isBound: client.dpop_bound_access_tokens === true,
    isPushed: client.require_pushed_authorization_requests === true,
    isSigned: client.require_signed_request_object === true,
    signIn: readDemand(client.require_acr, client.require_age),
  }
}

/** The members of a patch; null removes one. */
export function protectionPatch({ isFapi, isBound, isPushed, isSigned, signIn }: Protection) {
  return {
    profile: isFapi ? 'fapi2' : null,
    dpop_bound_access_tokens: isBound || null,
    require_pushed_authorization_requests: isPushed || null,
    require_signed_request_object: isSigned || null,
    require_acr: demandedNumber(signIn.acr),
    require_age: demandedNumber(signIn.age),
  }
}

export function protectionText(client: Application): string {
  const { isFapi, isBound, isPushed, isSigned } = readProtection(client)
  if (isFapi) return isSigned ? word('FAPI 2.0 Security Profile, signed requests') : word('FAPI 2.0 Security Profile')
  const parts = [
    ...(isBound ? [word('bound tokens (DPoP)')] : []),
    ...(isPushed ? [word('pushed requests')] : []),
    ...(isSigned ? [word('signed requests')] : []),
  ]
  return parts.length === 0 ? word('Standard') : word(`Needs ${parts.join(word(' and '))}`)
}

interface Props {
  readonly info: KindInfo
  readonly protection: Protection
  readonly onProtection: (protection: Protection) => void
}

/** The profile includes the others. */
export function ProtectionFields({ info, protection, onProtection }: Props) {
  const { isFapi, isBound, isPushed, isSigned } = protection
  return (
    <fieldset class="choices">
      <legend>Protection</legend>
      {info.confidential && (
        <Checkbox
          label="FAPI 2.0 Security Profile"
          hint="It signs with its own key, pushes its requests and binds its tokens. Needs assertions as authentication, and https redirect URIs."
          checked={isFapi}
          onChecked={(checked) => onProtection({ ...protection, isFapi: checked })}
        />
      )}
      {!isFapi && (
        <Checkbox
          label="Tokens bound to a key"
          hint="A stolen access token is worthless: each request also needs a proof by the key of the application (DPoP)."
          checked={isBound}
          onChecked={(checked) => onProtection({ ...protection, isBound: checked })}
        />
      )}
      {!isFapi && info.redirects && (
        <Checkbox
          label="Pushed requests only"
          hint="The application sends its authorization requests to the server itself, so that nobody alters them in the browser (PAR)."
          checked={isPushed}
          onChecked={(checked) => onProtection({ ...protection, isPushed: checked })}
        />
      )}
      {info.redirects && (
        <Checkbox
          label="Signed requests only"
          hint="Authorization requests are signed with the key of the application, and nothing else in them counts. Needs its public keys."
          checked={isSigned}
          onChecked={(checked) => onProtection({ ...protection, isSigned: checked })}
        />
      )}
      {info.kind !== 'service' && (
        <SignInDemandFields
          label="Sign-in of its users"
          demand={protection.signIn}
          onDemand={(signIn) => onProtection({ ...protection, signIn })}
        />
      )}
    </fieldset>
  )
}

export function signInText({ require_acr: acr, require_age: age }: Application): string {
  return demandText(acr, age)
}
