/** A request that the wire itself refuses, before anything of the domain was asked. */
export class Refused extends Error {
  override name = 'Refused'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export const requiresAuthentication = () => new Refused(401, 'Requires authentication')
export const badCredentials = () => new Refused(401, 'Bad credentials')
export const unparsableBody = () => new Refused(400, 'Problems parsing JSON')
export const bodyIsNoObject = () => new Refused(400, 'Body should be a JSON object')
export const previewMissing = () =>
  new Refused(
    415,
    'If you would like to help us test the Migrations API during its preview period, you must specify a custom media ' +
      "type in the 'Accept' header. Please see the docs for full details.",
  )
export const unacceptable = (accept: string) =>
  new Refused(415, `Unsupported 'Accept' header: '${accept}'. Must accept 'application/json'.`)
export const invalidLink = () =>
  new Refused(403, 'This link is not valid, or not any more. Ask for the archive again.')
