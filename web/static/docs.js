// The API reference: Swagger UI over the embedded document.
"use strict";

const place = document.getElementById("reference");
const ui = SwaggerUIBundle({
  url: place.dataset.document,
  domNode: place,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: "none",
  requestInterceptor(request) {
    // The document names the service's own address. This page may have been
    // opened under another name of the service.
    const target = new URL(request.url, location.href);
    if (target.pathname.startsWith("/api/")) request.url = location.origin + target.pathname + target.search;
    const key = (request.headers.Authorization || "").replace(/^Bearer /, "") || request.headers["x-api-key"];
    if (key && !/^g(ds|ov)_test_/.test(key)) {
      throw new Error("This page sends test keys alone; use curl for live data.");
    }
    return request;
  },
  onComplete() {
    if (place.dataset.key) ui.preauthorizeApiKey("bearer", place.dataset.key);
  },
});
