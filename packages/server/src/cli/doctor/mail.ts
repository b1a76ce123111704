/** Checks e-mail: the templates, and whether the mail server can be reached and takes the password. */
import type { Config } from '../../config/config.ts'
import { checkMailServer, readMailTemplates } from '../../server/mail.ts'
import { errorReason, type Finding, fault, ok } from './finding.ts'

export async function checkMail(config: Config): Promise<readonly Finding[]> {
  const { mailUrl } = config
  if (mailUrl === undefined) return []
  const findings: Finding[] = []
  try {
    await readMailTemplates(config)
  } catch (error) {
    findings.push(fault('mail.templates', errorReason(error), 'Correct the template, or remove it.'))
  }
  const where = `${mailUrl.host}:${mailUrl.port}`
  try {
    await checkMailServer(config)
    findings.push(ok('mail', `The mail server ${where} can be used`))
  } catch (error) {
    findings.push(
      fault(
        'mail.unusable',
        `The mail server ${where} cannot be used: ${errorReason(error)}`,
        'Check GATEHOUSE_MAIL_URL and GATEHOUSE_MAIL_PASSWORD; a private authority of its certificate is set with NODE_EXTRA_CA_CERTS.',
      ),
    )
  }
  return findings
}
