/** An answer as it would be without tokens to clone with, which are others every minute. */
export const withoutCloneTokens = (body: string): string =>
  body.replaceAll(/"temp_clone_token":"gwc_[\w-]+"/g, '"temp_clone_token":"gwc_"')
