window.ui = SwaggerUIBundle({
  urls: [
    { name: "App", url: "/openapi/app.yaml" },
    { name: "Legacy", url: "/openapi/legacy.yaml" },
    { name: "Operator", url: "/openapi/operator.yaml" },
    { name: "Public", url: "/openapi/public.yaml" },
  ],
  dom_id: "#swagger-ui",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  validatorUrl: null, // the default sends the document to validator.swagger.io
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  layout: "StandaloneLayout",
});
