/** The device code grant (RFC 8628 §3.4): the device asks until its person has decided. */
import type { Client } from '../../store/client-metadata.ts'
import type { DeviceApproval } from '../../store/device-codes.ts'
import { required } from '../oauth-door.ts'
import { refuse } from '../oauth-error.ts'
import { heldByUser } from '../scope.ts'
import type { GrantEnv, GrantRequest, Redeemed } from './env.ts'
import { beginFamily } from './family.ts'

export async function redeemDeviceCode({ form, client, admit }: GrantRequest, env: GrantEnv): Promise<Redeemed> {
  const deviceCode = required(form, 'device_code')
  const poll = await env.stores.deviceCodes.poll(deviceCode)
  if (poll.outcome === 'unknown' || poll.clientId !== client.id) throw notAccepted('unknown, or of another client')
  if (poll.state === 'redeemed') throw notAccepted('redeemed before')
  if (poll.state === 'denied') throw refuse('access_denied', 'The request was declined')
  if (poll.expiresAt <= env.clock()) throw refuse('expired_token', 'The device code has expired')
  if (poll.outcome === 'too-fast') throw refuse('slow_down', 'Wait five seconds longer between two requests')
  if (poll.state === 'pending' || poll.approval === undefined)
    throw refuse('authorization_pending', 'Nobody has decided yet')

  const user = await env.stores.users.findById(poll.approval.userId)
  if (user === undefined || user.disabled) throw notAccepted('the user is gone or disabled')
  admit(user)
  const approval = await env.stores.deviceCodes.redeem(deviceCode)
  if (approval === undefined) throw notAccepted('redeemed by another request')
  const scopes = heldByUser(approval.scopes, user)
  const { grant, refreshToken } = await beginFamily(
    {
      kind: 'device_code',
      clientId: client.id,
      userId: user.id,
      sessionId: approval.sessionId,
      scopes,
      authTime: approval.authTime,
      details: { amr: approval.amr, acr: approval.acr },
    },
    client,
    env,
  )
  // Asked once the grant is there: who withdraws it later finds the grant and revokes it, and no moment lies between.
  if (!(await isStillAllowed(approval, client, env))) {
    await env.takeBack.grant(grant.id)
    throw notAccepted('the consent was withdrawn')
  }
  return {
    scopes,
    speaker: { user, grant },
    asOf: approval.approvedAt,
    refreshToken,
    ...(scopes.includes('openid') ? { idToken: {} } : {}),
  }
}

/** C-67: what was approved before the consent that stands now was given belongs to one that was withdrawn. */
async function isStillAllowed({ userId, approvedAt }: DeviceApproval, { id }: Client, env: GrantEnv): Promise<boolean> {
  const consent = await env.stores.consents.find(userId, id)
  return consent !== undefined && consent.createdAt <= approvedAt
}

function notAccepted(why: string) {
  return refuse('invalid_grant', 'The device code is unknown or used', { why })
}
