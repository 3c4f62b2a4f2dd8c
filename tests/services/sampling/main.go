// A Collector with the components that cannot be had at the release of ../otelcol: tail sampling and filter.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/open-telemetry/opentelemetry-collector-contrib/connector/spanmetricsconnector"
	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/filterprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/tailsamplingprocessor"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func components() (otelcol.Factories, error) {
	receivers, receiversErr := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	processors, processorsErr := otelcol.MakeFactoryMap[processor.Factory](
		filterprocessor.NewFactory(),
		tailsamplingprocessor.NewFactory(),
	)
	connectors, connectorsErr := otelcol.MakeFactoryMap[connector.Factory](spanmetricsconnector.NewFactory())
	exporters, exportersErr := otelcol.MakeFactoryMap[exporter.Factory](fileexporter.NewFactory())
	return otelcol.Factories{
		Receivers:  receivers,
		Processors: processors,
		Connectors: connectors,
		Exporters:  exporters,
		// Without it every configuration is refused.
		Telemetry: otelconftelemetry.NewFactory(),
	}, errors.Join(receiversErr, processorsErr, connectorsErr, exportersErr)
}

func main() {
	// Without the provider of the environment no configuration is resolved.
	providers := []confmap.ProviderFactory{envprovider.NewFactory(), fileprovider.NewFactory()}
	command := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol", Version: "0.161.0"},
		Factories: components,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{ProviderFactories: providers},
		},
	})
	if err := command.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
