/** The device code grant (RFC 8628 §3.4): the device polls until the user has decided. */

import type { DeviceApproval } from '../../store/authorizations/device-codes.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import { required } from '../clients/client-request.ts'
import { refuse } from '../oauth-error.ts'
import { limitToRights } from '../tokens/scope.ts'
import type { GrantEnv, GrantRequest, Redeemed } from './grant.ts'
import { chooseGrantTarget, createGrant, refreshTokenKey } from './grant.ts'

export async function redeemDeviceCode(request: GrantRequest, env: GrantEnv): Promise<Redeemed> {
  const { form, client, countUser } = request
  const deviceCode = required(form, 'device_code')
  const poll = await env.stores.deviceCodes.poll(deviceCode)
  if (poll.outcome === 'unknown' || poll.clientId !== client.id)
    throw notAccepted('unknown, or issued to another client')
  if (poll.state === 'redeemed') throw notAccepted('already redeemed')
  if (poll.state === 'denied') throw refuse('access_denied', 'The user denied the request')
  if (poll.expiresAt <= env.clock()) throw refuse('expired_token', 'The device code has expired')
  if (poll.outcome === 'too-fast') throw refuse('slow_down', 'Increase the polling interval by five seconds')
  if (poll.state === 'pending' || poll.approval === undefined)
    throw refuse('authorization_pending', 'The user has not decided yet')

  const user = await env.stores.users.findById(poll.approval.userId)
  if (user === undefined || user.disabled) throw notAccepted('user deleted or disabled')
  countUser(user)
  // Before the code is redeemed: a request for a wrong target does not lose it.
  const details = { amr: poll.approval.amr, acr: poll.approval.acr, audiences: poll.audiences }
  const granted = limitToRights(poll.approval.scopes, user)
  const { scopes, target } = chooseGrantTarget(request, { details, scopes: granted }, granted, env)
  // In one transaction: a device whose grant could not be stored polls again (RFC 8628 §3.5).
  const { approval, grant, refreshToken } = await env.revocations.inTransaction(async (_, stores) => {
    const approval = await stores.deviceCodes.redeem(deviceCode)
    if (approval === undefined) throw notAccepted('redeemed by another request')
    const { sessionId, authTime, boundedUntil } = approval
    const created = await createGrant(
      {
        ...{ kind: 'device_code', clientId: client.id, userId: user.id, sessionId, scopes: granted, authTime },
        details: { ...details, ...refreshTokenKey(request) },
      },
      client,
      { ...env, stores },
      boundedUntil,
    )
    return { approval, ...created }
  })
  // Check consent after creating the grant: a withdrawal from now on finds the grant and revokes it.
  if (!(await consentIsCurrent(approval, client, env))) {
    await env.revocations.revokeGrant(grant.id)
    throw notAccepted('consent withdrawn')
  }
  return {
    scopes,
    target,
    onBehalfOf: { user, grant },
    asOf: approval.approvedAt,
    refreshToken,
    ...(scopes.includes('openid') ? { idToken: {} } : {}),
  }
}

/** C-67: an approval older than the current consent belongs to a consent that was withdrawn. */
async function consentIsCurrent(
  { userId, approvedAt }: DeviceApproval,
  { id }: Client,
  env: GrantEnv,
): Promise<boolean> {
  const consent = await env.stores.consents.find(userId, id)
  return consent !== undefined && consent.createdAt <= approvedAt
}

function notAccepted(why: string) {
  return refuse('invalid_grant', 'The device code is unknown or used', { why })
}
