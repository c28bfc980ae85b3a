/** Returns whether requests to this host, which may be an IPv6 address with or without brackets, stay on this machine. */
export const isLoopback = (host: string): boolean =>
  /^(?:localhost|127\.[\d.]+|::1|\[::1\])$/.test(host)
